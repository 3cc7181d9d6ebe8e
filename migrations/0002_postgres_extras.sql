-- PostgreSQL-only extras, kept out of the portable core: the request counter and full-text search.

-- Losing the counts in a crash is harmless, so they are not logged.
create unlogged table request_count (
  bucket       text    primary key,
  window_start bigint  not null,
  requests     integer not null
) with (fillfactor = 50);

create index market_search on market using gin (
  to_tsvector('simple', question || ' ' || coalesce((meta::jsonb) ->> 'description', ''))
);
create index market_by_closing on market (close_at, id);
