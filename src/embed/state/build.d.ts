/** What `bin/assets.js` puts in place of names and files. */

/** The text of a style sheet, with its imports, minified. */
declare module "*.css" {
  const text: string;
  export default text;
}

/** Where the script of the hub lies (`stream/shared-hub.ts`). */
declare const STREAM_PART: string;
