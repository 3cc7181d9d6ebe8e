-- Sessions that their users ended, by the SHA-256 of what the token behind them signs, until it has expired. All servers of the
-- tenant look for new rows by the time at which they were written, by the database's clock.
create table ended_session (
  token_hash text   primary key,
  expires_at bigint not null,
  ended_at   bigint not null
);
create index ended_session_by_time on ended_session (ended_at);
create index ended_session_by_expiry on ended_session (expires_at);

-- An operator's word on a user's sessions lives in the audit log alone, and is one probe away.
create index audit_of_session on audit ((audit_json(payload) ->> 'userId'), seq) where type = 'session.revoked';

-- What the edge refused and noticed: one row per event, reason, address and minute, whose key `id` is made of these, so that
-- several servers add to one count. It is no part of the audit log, and nothing decides by it.
create table security_event (
  id          text   primary key,
  ts          bigint not null,
  event       text   not null,
  reason      text   not null,
  address     text,
  fingerprint text,
  key_name    text,
  route       text,
  count       bigint not null check (count > 0)
);
create index security_event_by_time on security_event (ts desc, id desc);
create index security_event_by_event on security_event (event, ts desc, id desc);
