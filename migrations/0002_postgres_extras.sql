-- What PostgreSQL alone has: room in pages, tables that are not logged, partial and expression indexes, functions, text search.

-- Rows that are rewritten all the time find room for their next version in their own page.
alter table head             set (fillfactor = 10);
alter table account          set (fillfactor = 70);
alter table book             set (fillfactor = 50);
alter table position         set (fillfactor = 70);
alter table market_hour      set (fillfactor = 70);
alter table trader_day       set (fillfactor = 70);
alter table funding_day      set (fillfactor = 70);
alter table webhook_delivery set (fillfactor = 70);
alter table oracle_watch     set (fillfactor = 70);
alter table key_use          set (fillfactor = 50);

-- Tables that are not logged: a crash of the database empties them, and a standby that took over has none of their rows.

-- The request counter. Losing the counts is harmless.
create unlogged table request_count (
  bucket       text    primary key,
  window_start bigint  not null,
  requests     integer not null
) with (fillfactor = 50);

-- Work that one server of a tenant does at a time. A lease saves double work and decides nothing: each piece of the work is
-- recorded once, whichever servers are at it. Servers without work write nothing to the disk for it and wait for no standby;
-- after a crash the next claim fills it.
create unlogged table lease (
  work   text   primary key,
  holder text   not null,
  -- Milliseconds since the epoch by the database's clock; 0 once given up.
  until  bigint not null,
  constraint lease_work_known check (work in ('audit', 'closing', 'oracle', 'overrides', 'webhooks')),
  -- Servers read the rows every second: they stay small whatever a login writes.
  constraint lease_holder_length check (octet_length(holder) between 1 and 300)
);

-- A payload as JSON, null where its text is none: a broken entry is a difference to be shown, never an error.
create function audit_json(payload text) returns jsonb
language plpgsql immutable strict as $$
begin
  return payload::jsonb;
exception when others then
  return null;
end $$;

-- The log by type and by actor. Users' trades, which are most of it, pay for neither: they are found by their own table.
create index audit_by_type on audit (type, seq) where type <> 'trade.executed';
create index audit_by_actor on audit (actor, seq) where actor not like 'user:%' or type <> 'trade.executed';

-- The history of applies, and who moved a live value since: few entries among very many trades.
create index audit_of_configuration on audit (seq)
  where type in ('config.applied', 'policy.updated', 'key.created', 'key.revoked', 'market.suspended', 'market.resumed');

-- What the log says last of a user's standing and sessions, of a key's value, of a market's names and of the value that decided
-- it: each one probe away, and trades pay for none of them.
create index audit_of_user on audit ((audit_json(payload) ->> 'userId'), type, seq)
  where type in ('kyc.updated', 'user.restricted', 'suitability.submitted');
create index audit_of_session on audit ((audit_json(payload) ->> 'userId'), seq) where type = 'session.revoked';
create index audit_of_key on audit using gin ((audit_json(payload) -> 'keys'))
  where type in ('key.created', 'key.revoked');
create index audit_of_market_key on audit ((audit_json(payload) ->> 'key'))
  where type in ('market.imported', 'market.moved');
create index audit_of_named_market on audit ((audit_json(payload) ->> 'marketId'), seq)
  where type in ('market.imported', 'market.moved');
create index audit_oracle_resolved on audit (seq) where type = 'oracle.resolved';
create index audit_resolution_of_market on audit ((audit_json(payload) ->> 'marketId'))
  where type = 'oracle.resolved';

create unique index market_file_key on market (file_key) where file_key is not null;

-- Markets that still matter: the sweep for closings, risk and open positions need not pass the settled ones. Trades
-- change nothing in it, so they stay updates within the page.
create index book_unsettled on book (market_id) where status <> 'settled';
create index book_by_settlement on book (settled_at) where settled_at is not null;

create index account_pending on account (id) where id like 'pending:%';
create index account_receivable on account (id) where id like 'receivable:%';

-- A wallet's statement. Purchases, which are most of the transfers, are found by the trader's trades instead.
create index transfer_into_wallet on transfer (credit, seq) where credit like 'wallet:%';
create index transfer_out_of_wallet on transfer (debit, seq)
  where debit like 'wallet:%' and credit not like 'escrow:%' and credit <> 'fees';
-- What a user came to owe, and what repaid it.
create index transfer_into_receivable on transfer (credit, seq) where credit like 'receivable:%';
create index transfer_out_of_receivable on transfer (debit, seq) where debit like 'receivable:%';

-- Which positions were sold from since a purchase was tagged, for the hedge book. Purchases pay nothing for it.
create index trade_sold on trade (trader_id, market_id, side, seq) where released_micro is not null;

-- Lists of users go by their ids, and begin where one of these does: operators look for a standing, a place or a score among
-- all users. A trade writes none of these columns.
create index trader_by_state on trader ((case when restricted then 'restricted' else kyc end), id);
create index trader_by_jurisdiction on trader (jurisdiction, id) where jurisdiction is not null;
create index trader_by_score on trader (suitability_score, id) where suitability_score is not null;

create index webhook_delivery_due on webhook_delivery (receiver, next_attempt_at, seq) where status = 'pending';

-- A sweep with nothing due reads nothing of it, however many markets are open.
create index oracle_watch_due on oracle_watch (instant_at, market_id) where parsed and not settled;
create index oracle_watch_held on oracle_watch (held_at, market_id) where reason is not null and not settled;

-- The server's own login sees that standbys are connected and nothing else of them, unless it may read all statistics, which
-- would show it the statements of every session of the cluster. This shows it the standbys alone, as far as the owner sees them.
create function standby_status() returns table (pid integer, name text, state text, sync text, flushed pg_lsn)
  language sql stable security definer set search_path = pg_catalog, pg_temp
  as $$ select pid, application_name, state, sync_state, flush_lsn from pg_catalog.pg_stat_replication $$;

-- Markets are searched in the tenant's language.
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
  -- Makes the words of each market again.
  update market set question = question;
end $$;

-- Kept beside the market: to make them for each row that a search looks at would cost 100 times the comparison.
alter table market add column words tsvector generated always as (market_words(question, meta)) stored;
create index market_search on market using gin (words);
