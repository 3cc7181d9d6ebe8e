-- Processes that write at the same time take turns: each holds a lock on this row for several batches. The head decides who
-- writes, so nothing is wrong without it.
create table turn (
  id smallint primary key,
  constraint turn_is_one_row check (id = 1)
);
insert into turn (id) values (1);
