-- The server's own login sees that standbys are connected and nothing else of them, unless it may read all statistics, which
-- would show it the statements of every session of the cluster. This shows it the standbys alone, as far as the owner sees them.
create function standby_status() returns table (pid integer, name text, state text, sync text, flushed pg_lsn)
  language sql stable security definer set search_path = pg_catalog, pg_temp
  as $$ select pid, application_name, state, sync_state, flush_lsn from pg_catalog.pg_stat_replication $$;
