-- A market's later keys stand in the audit log alone: its own row never changes.
create index audit_of_market_key on audit ((audit_json(payload) ->> 'key'))
  where type in ('market.imported', 'market.moved');
create index audit_of_named_market on audit ((audit_json(payload) ->> 'marketId'), seq)
  where type in ('market.imported', 'market.moved');

-- A server of an older version does not know those keys, and would create a second market under one of them.
create function require_free_market_key() returns trigger
language plpgsql as $$
begin
  if exists (
    select 1
      from audit
     where type in ('market.imported', 'market.moved')
       and audit_json(payload) ->> 'key' = new.file_key
       and audit_json(payload) ->> 'marketId' <> new.id
  ) then
    raise unique_violation using message = 'the key is another market''s', constraint = 'market_file_key';
  end if;
  return new;
end $$;
create trigger market_key_is_free before insert on market
  for each row when (new.file_key is not null) execute function require_free_market_key();
