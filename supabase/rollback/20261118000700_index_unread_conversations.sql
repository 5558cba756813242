drop index if exists holdfast.conversations_unread_of_a_user;
