drop index if exists holdfast.tasks_ended_of_a_user;
