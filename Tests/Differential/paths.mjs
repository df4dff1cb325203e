// How the WHATWG's URL reads targets behind an authority, and as references: a target on each line, a line of JSON back.

import { readFileSync } from "node:fs";

// Bytes as Latin-1, as Python gives them.
const decoded = (path) => {
  try { return Buffer.from(decodeURIComponent(path), "utf8").toString("latin1"); } catch { return null; }
};

for (const target of readFileSync(process.argv[2], "latin1").split("\n").slice(0, -1)) {
  const { host, pathname } = new URL("http://x" + target);
  const resolved = URL.canParse(target, "http://x/") ? new URL(target, "http://x/").pathname : null;
  console.log(JSON.stringify({ host, path: pathname, decoded: decoded(pathname), normalised: null, resolved }));
}
