/** The parts of a font that line layout needs: its characters and their widths. */
export class FontFile {
  readonly data: Buffer;
  readonly #unitsPerEm: number;
  readonly #glyphs: Ranges;
  readonly #advances: { at: number; count: number };

  /** @param data a TrueType or OpenType file (ISO/IEC 14496-22) */
  constructor(data: Buffer) {
    this.data = data;
    const tables = tablesOf(data);
    const table = (tag: string): number => {
      const at = tables.get(tag);
      if (at === undefined) throw new Error(`The font has no table ${tag}`);
      return at;
    };
    this.#unitsPerEm = data.readUInt16BE(table("head") + 18);
    this.#advances = { at: table("hmtx"), count: data.readUInt16BE(table("hhea") + 34) };
    this.#glyphs = characterMap(data, table("cmap"));
  }

  /** A character's width in ems; undefined if the font lacks it. Shaping may make it narrower, rarely wider. */
  widthOf(codePoint: number): number | undefined {
    const glyph = this.#glyphs(codePoint);
    if (glyph === 0) return undefined;
    const { at, count } = this.#advances;
    return this.data.readUInt16BE(at + 4 * Math.min(glyph, count - 1)) / this.#unitsPerEm;
  }
}

/** The glyph of a character; 0 if there is none. */
type Ranges = (codePoint: number) => number;

function tablesOf(data: Buffer): Map<string, number> {
  const count = data.readUInt16BE(4);
  const records = Array.from({ length: count }, (_, index) => 12 + 16 * index);
  return new Map(records.map((at) => [data.toString("latin1", at, at + 4), data.readUInt32BE(at + 8)]));
}

/** The segments of a `cmap` of format 12 (all of Unicode) or 4 (its first plane), the only formats in use. */
function characterMap(data: Buffer, start: number): Ranges {
  const count = data.readUInt16BE(start + 2);
  const offsets = Array.from({ length: count }, (_, index) => start + data.readUInt32BE(start + 8 + 8 * index));
  const whole = offsets.find((at) => data.readUInt16BE(at) === 12);
  if (whole !== undefined) return fullMap(data, whole);
  const basic = offsets.find((at) => data.readUInt16BE(at) === 4);
  if (basic === undefined) throw new Error("The font's character map has an unsupported format");
  return basicMap(data, basic);
}

function fullMap(data: Buffer, at: number): Ranges {
  const count = data.readUInt32BE(at + 12);
  const group = (index: number) => at + 16 + 12 * index;
  return (codePoint) => {
    const index = firstFrom(count, (each) => data.readUInt32BE(group(each) + 4) >= codePoint);
    if (index === count || data.readUInt32BE(group(index)) > codePoint) return 0;
    return data.readUInt32BE(group(index) + 8) + codePoint - data.readUInt32BE(group(index));
  };
}

function basicMap(data: Buffer, at: number): Ranges {
  const bytes = data.readUInt16BE(at + 6);
  const [ends, starts] = [at + 14, at + 16 + bytes];
  const [deltas, offsets] = [starts + bytes, starts + 2 * bytes];
  return (codePoint) => {
    if (codePoint > 0xffff) return 0;
    const segment = 2 * firstFrom(bytes / 2, (each) => data.readUInt16BE(ends + 2 * each) >= codePoint);
    if (segment === bytes || data.readUInt16BE(starts + segment) > codePoint) return 0;
    const delta = data.readUInt16BE(deltas + segment);
    const offset = data.readUInt16BE(offsets + segment);
    if (offset === 0) return (codePoint + delta) & 0xffff;
    const place = offsets + segment + offset + 2 * (codePoint - data.readUInt16BE(starts + segment));
    const glyph = data.readUInt16BE(place);
    return glyph === 0 ? 0 : (glyph + delta) & 0xffff;
  };
}

/** The first index below `count` at which a monotonic predicate is true; `count` if there is none. */
function firstFrom(count: number, isReached: (index: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isReached(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
