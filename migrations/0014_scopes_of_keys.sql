-- What a key may do and the networks that it works from, as lists apart by spaces. Null, in rows of older versions: an
-- admin key may do everything, and either kind works from anywhere.
alter table api_key add column scopes text, add column networks text;
