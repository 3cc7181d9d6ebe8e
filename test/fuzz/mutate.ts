import type { Random } from "../model/random.ts";

/** Numbers at which something ends: of bytes, of doubles, of PostgreSQL's bigint, of our own limits. */
export const NUMBERS = [
  ..."0 -0 1 -1 0.1 0.000001 0.0000001 1e-7 1e9 1000000001 2147483648 9007199254740991 9007199254740993".split(" "),
  ..."9223372036854775807 9223372036854775808 -9223372036854775809 18446744073709551616 1e21 1e308 1e400 -1e400".split(
    " ",
  ),
  ..."0.001 0.999 0.5 1.0000000000000002 10000 0x10 1_000 .5 5. 1e NaN Infinity 00 9e99999".split(" "),
];

/** Texts at which something breaks: controls, bidi, half pairs, other alphabets' digits, names of JavaScript and SQL. */
export const TEXTS = [
  ..."__proto__ constructor toString hasOwnProperty null true [] {} NO ~ - * & ! | > % @ ` ' \" ; -- /* \\ \\\\".split(
    " ",
  ),
  ..."%00 %2e%2e%2f ..%2f %zz %e0%a4%a %F0%9F <script> javascript:0 https://[::1] http://0 data:,".split(" "),
  ..."2026-02-30T00:00:00Z 9999-12-31T23:59:60Z -000001-01-01T00:00:00Z +275760-09-13T00:00:00.001Z 0000-00-00".split(
    " ",
  ),
  ..."m1 m2 m3 usr_1 usr_2 pm:btc>1 pm:btc between 1..2".split(" "),
  "",
  " ",
  "\0",
  "\u001b[2J",
  "\u0085",
  "\u009b",
  "\u202e",
  "\u2066",
  "\u2028",
  "\ufeff",
  "\ud800",
  "\udfff",
  "\u{10ffff}",
  "e\u0301",
  "\u0661\u0662",
  "ß",
  "İ",
  "\r\n",
  "\t",
  "x".repeat(255),
  "x".repeat(501),
  "\u{1f4a9}".repeat(130),
  "a".repeat(9000),
  "(a+)+$",
];

const BRACKETS = ["[", "{", '{"a":', "[[", "(", "- ", "? ", "&a [*a,"];

/** A text with one to four faults in it; half the time one of the corpus is the beginning. */
export function mutate(random: Random, corpus: readonly Buffer[], words: readonly string[], longest = 16_384): Buffer {
  let bytes: Buffer = corpus.length > 0 ? random.pick(corpus) : Buffer.alloc(0);
  for (let left = random.integer(1, 4); left > 0; left--) bytes = once(random, bytes, corpus, words);
  return bytes.subarray(0, longest);
}

function once(random: Random, bytes: Buffer, corpus: readonly Buffer[], words: readonly string[]): Buffer {
  const at = random.integer(0, bytes.length);
  const length = random.integer(0, Math.min(32, bytes.length - at));
  const replaced = (middle: Buffer | string, skipped = length) =>
    Buffer.concat([bytes.subarray(0, at), Buffer.from(middle), bytes.subarray(at + skipped)]);
  const kinds = { flip: 3, drop: 2, word: 4, number: 2, text: 2, token: 3, copy: 1, splice: 1, nest: 0.2, random: 1 };
  switch (random.weighted(kinds)) {
    case "flip": {
      const flipped = Buffer.from(bytes);
      if (at < flipped.length) flipped[at] = (flipped[at] ?? 0) ^ (1 << random.integer(0, 7));
      return flipped;
    }
    case "drop":
      return replaced("");
    case "word":
      return words.length === 0 ? bytes : replaced(random.pick(words), random.chance(0.5) ? 0 : length);
    case "number":
      return replaceToken(random, bytes, /-?\d+(\.\d+)?/g, random.pick(NUMBERS));
    case "text":
      return replaced(random.pick(TEXTS));
    case "token":
      return replaceToken(random, bytes, /[\w.$-]+/g, random.pick(random.chance(0.5) ? TEXTS : NUMBERS));
    case "copy":
      return replaced(bytes.subarray(at, at + length), 0);
    case "splice": {
      const other = corpus.length > 0 ? random.pick(corpus) : bytes;
      return Buffer.concat([bytes.subarray(0, at), other.subarray(random.integer(0, other.length))]);
    }
    case "nest":
      return replaced(random.pick(BRACKETS).repeat(random.integer(1, 3000)), 0);
    case "random":
      return replaced(Buffer.from(Array.from({ length: random.integer(1, 8) }, () => random.integer(0, 255))));
  }
}

/** One of the places that fit, whole. */
function replaceToken(random: Random, bytes: Buffer, pattern: RegExp, by: string): Buffer {
  const text = bytes.toString("latin1");
  const places = [...text.matchAll(pattern)];
  if (places.length === 0) return bytes;
  const { 0: token, index } = random.pick(places);
  return Buffer.concat([bytes.subarray(0, index), Buffer.from(by), bytes.subarray(index + token.length)]);
}
