-- How many of a user's conversations are unread: counted without walking through all that the user ever began.
create index if not exists conversations_unread_of_a_user
  on holdfast.conversations (user_id) where unread_count > 0;
