// Node's fetch against nginx, with a bearer token. It sends Sec-Fetch-Mode, as browsers do, and is none.
import { createHash } from "node:crypto";

const { BASE, CLIENT } = process.env;

async function check(what, body) {
  try {
    await body();
    console.log(`ok      ${CLIENT}: ${what}`);
  } catch (error) {
    console.log(`FAILED  ${CLIENT}: ${what}\n        ${error.stack}`);
    process.exit(1);
  }
}

function expect(condition, found) {
  if (!condition) throw new Error(`found ${JSON.stringify(found)}`);
}

async function ask(path, options) {
  const answer = await fetch(BASE + path, options);
  expect(answer.ok, answer.status);
  return answer;
}

await check("Sec-Fetch-Mode is no reason to refuse, and the credential is added", async () => {
  const fields = await (await ask("/live/fields")).json();
  expect(fields["sec-fetch-mode"] === "cors", fields["sec-fetch-mode"]);
  expect(fields["authorization"]?.startsWith("Bearer "), Object.keys(fields));
});

await check("JSON to the server and back", async () => {
  const answer = await ask("/live/json", { method: "POST", body: JSON.stringify({ a: [1, "ü"] }) });
  expect((await answer.json()).a[1] === "ü");
});

const large = Buffer.alloc(20_000_000, "fetch ");

await check("a streamed upload", async () => {
  const body = new ReadableStream({
    start(controller) {
      for (let at = 0; at < large.length; at += 100_000) controller.enqueue(large.subarray(at, at + 100_000));
      controller.close();
    },
  });
  await ask("/files/fetch", { method: "PUT", body, duplex: "half" });
});

await check("a streamed download", async () => {
  const hash = createHash("sha256");
  for await (const piece of (await ask("/files/fetch")).body) hash.update(piece);
  expect(hash.digest("hex") === createHash("sha256").update(large).digest("hex"));
});

await check("fifty at a time", async () => {
  const numbers = [...Array(50).keys()];
  const answers = await Promise.all(
    numbers.map(async (n) => (await ask("/live/x", { method: "POST", body: String(n) })).text()));
  expect(answers.every((text, n) => text === String(n)), answers);
});
