-- Before the first sweep there is no time of it. The row began with the time of its migration: one that has not moved since
-- was never swept.
alter table oracle_sweep alter column swept_at drop not null;
update oracle_sweep
   set swept_at = null
 where swept_at < (select floor(extract(epoch from applied_at) * 1000)::bigint + 1000 from migration where version = 9);
