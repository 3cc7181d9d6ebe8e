-- Commands that wait for other actors, for their time, or for both.
create table proposal (
  id               text    primary key,
  kind             text    not null,
  status           text    not null,
  subject          text    not null,
  market_id        text,
  outcome          text,
  reason           text,
  -- JSON, as are request, approvals and result.
  evidence         text,
  request          text    not null,
  proposed_by      text    not null,
  proposed_at      bigint  not null,
  final_at         bigint  not null,
  approvals_needed integer not null,
  approvals        text    not null,
  objections       integer not null,
  decided_by       text,
  decided_at       bigint,
  result           text,
  version          bigint  not null,
  constraint proposal_kind_known check (kind in ('settle', 'void', 'correct', 'withdraw', 'credit', 'loosen', 'key')),
  constraint proposal_status_known check (status in ('pending', 'executed', 'rejected')),
  constraint proposal_decided check ((status = 'pending') = (decided_at is null))
);
-- Of one subject, at most one waits.
create unique index proposal_waiting on proposal (subject) where status = 'pending';
create index proposal_of_market on proposal (market_id, id) where market_id is not null;

-- Each user with a position objects to a proposal at most once.
create table objection (
  proposal_id text   not null,
  trader_id   text   not null,
  reason      text   not null,
  at          bigint not null,
  primary key (proposal_id, trader_id)
);

-- Which actors approved which applies, by the SHA-256 of what is applied.
create table plan_approval (
  sha256 text   not null,
  actor  text   not null,
  at     bigint not null,
  primary key (sha256, actor)
);

-- A market's own rules for its end, as JSON; null for those of the tenant.
alter table market add column resolution text;
