-- The operator's console: who is signed in.
create table console_session (
  -- SHA-256 of the cookie's token, hex; the token itself is never stored.
  sha256       text   primary key,
  -- SHA-256 of the admin key that signed in, as in api_key.
  key_hash     text   not null,
  key_name     text   not null,
  created_at   bigint not null,
  ends_at      bigint not null,
  ended_at     bigint,
  -- Made with the audit key over the columns above, so that write access to this table signs nobody in.
  seal         text   not null,
  -- The last request of a person, to within a hundredth of the idle time. Only the idle end depends on it.
  last_seen_at bigint not null default 0
);
