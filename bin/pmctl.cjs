// CommonJS and old syntax, so that a Node.js that cannot read the rest of pmctl still says why.
const oldest = /(\d+)\.(\d+)/.exec(require("../package.json").engines.node);
const [major, minor] = process.versions.node.split(".").map(Number);

if (major < Number(oldest[1]) || (major === Number(oldest[1]) && minor < Number(oldest[2]))) {
  process.stderr.write(
    `pmctl needs Node.js ${oldest[0]} or newer, and ${process.execPath} is version ${process.versions.node}.\n`,
  );
  process.exit(1);
}

// pmctl.js imports this file, so that it does not start without the check either.
if (require.main === module) import("./pmctl.js");
