-- Before the first sweep there is no time of it. The row began with the time of its migration: one that has not moved since
-- was never swept.
alter table oracle_sweep alter column swept_at drop not null;
update oracle_sweep
   set swept_at = null
  from migration m
 where m.version = 9
   and swept_at between floor(extract(epoch from m.applied_at) * 1000) and extract(epoch from m.applied_at) * 1000 + 1000;

-- PostgreSQL-only from here on: markets are searched in the tenant's language.
-- The text search configuration is stated here and nowhere else; follow_market_search() states another.
create function market_search_configuration() returns regconfig
  language sql immutable parallel safe
  return 'pg_catalog.english'::regconfig;

-- Every word of a market as the configuration reduces it, and as it stands, for what the configuration drops. Both keep their
-- place in the text, which only the way through text allows, so that quoted phrases are found.
create function market_words(question text, meta text) returns tsvector
  language plpgsql immutable parallel safe
  as $$
declare
  said text := question || ' ' || coalesce((meta::jsonb) ->> 'description', '');
begin
  return (to_tsvector(public.market_search_configuration(), said)::text || ' '
          || to_tsvector('pg_catalog.simple', said)::text)::tsvector;
end $$;

-- What was typed, word by word: as the configuration reduces it, or as it stands where that leaves nothing of it. Words of
-- several parts, such as addresses and those with hyphens, are parsed into these parts already.
create function market_query(typed text) returns tsquery
  language plpgsql stable parallel restricted
  set client_min_messages to 'warning'
  as $$
declare
  asked tsquery := websearch_to_tsquery('pg_catalog.simple', typed);
  quoted text;
  word text;
  reduced tsquery;
begin
  for quoted in select distinct lexemes[1] from regexp_matches(asked::text, $re$('(?:[^'\\]|''|\\.)*')$re$, 'g') as lexemes loop
    word := (tsvector_to_array(quoted::tsvector))[1];
    continue when (select count(*) from ts_parse('default', word)) <> 1;
    reduced := plainto_tsquery(public.market_search_configuration(), word);
    continue when numnode(reduced) = 0;
    asked := ts_rewrite(asked, quoted::tsquery, reduced);
  end loop;
  return asked;
end $$;

-- Brings the search to the configuration that the applied document names. Of the owner's right, because the server's role may
-- not change the schema; without an argument, so that nothing else can be done with that right.
create function follow_market_search() returns void
  language plpgsql security definer
  set search_path = public, pg_temp
  as $$
declare
  wanted regconfig;
begin
  begin
    select coalesce(nullif(document, '')::jsonb #>> '{markets,search}', 'pg_catalog.english')::regconfig
      into wanted
      from tenant
     where id = 1;
  exception
    -- A backup of a database that has a configuration of its own: the next apply asks for it.
    when undefined_object or invalid_schema_name then return;
  end;
  if wanted is null or wanted = market_search_configuration() then
    return;
  end if;
  -- The lock of migrations: two of these at once would fail on the same catalog row.
  perform pg_advisory_xact_lock(hashtext('pmctl migrate'));
  execute format(
    'create or replace function market_search_configuration() returns regconfig
       language sql immutable parallel safe
       return %L::regconfig', wanted::text);
  reindex index market_search;
end $$;

drop index market_search;
create index market_search on market using gin (market_words(question, meta));
