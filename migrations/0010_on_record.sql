-- What the audit log says of keys, of users' standing and of the configuration: found by its subject, whatever is broken.

-- A payload as JSON, null where its text is none: a broken entry is a difference to be shown, never an error.
create function audit_json(payload text) returns jsonb
language plpgsql immutable strict as $$
begin
  return payload::jsonb;
exception when others then
  return null;
end $$;

-- The last word on a user's standing, and on a key's value, is one probe away. Trades pay for neither.
create index audit_of_user on audit ((audit_json(payload) ->> 'userId'), type, seq)
  where type in ('kyc.updated', 'user.restricted', 'suitability.submitted');
create index audit_of_key on audit using gin ((audit_json(payload) -> 'keys'))
  where type in ('key.created', 'key.revoked');

-- When each key was last used, to the minute. Apart from the keys, so that no use moves a key's version.
create table key_use (
  hash         text   primary key,
  last_used_at bigint not null
) with (fillfactor = 50);
