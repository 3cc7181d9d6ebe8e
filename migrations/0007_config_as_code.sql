-- Config as code: overrides that end by themselves, markets by their key in the files, and a short way to what changed
-- the configuration.

-- JSON: what holds over the policy's own values, and until when.
alter table tenant add column overrides text not null default '[]';

-- A file creates its market once; the key says that it did.
alter table market add column file_key text;
create unique index market_file_key on market (file_key) where file_key is not null;

-- The history of applies, and who moved a live value since: few entries among very many trades.
create index audit_of_configuration on audit (seq)
  where type in ('config.applied', 'policy.updated', 'key.created', 'key.revoked', 'market.suspended', 'market.resumed');
