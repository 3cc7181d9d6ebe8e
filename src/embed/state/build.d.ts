/** What `bin/assets.js` puts in place of names and files. */

/** The text of a style sheet, with its imports, minified. */
declare module "*.css" {
  const text: string;
  export default text;
}

/** Where the script of the shared worker lies (`stream/worker.ts`), which a page may import too. */
declare const STREAM_WORKER: string;
