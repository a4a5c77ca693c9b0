// Serves the containers `bench` and `rules` with Azurite, in memory.
//
// The first line of the output is an object with the URL of the account, `endpoint`, its name, `account`, its key, `key`,
// and a shared access signature, `signature`. The server stops at the end of the input.
//
// Usage: node azurite.mjs FOLDER, where FOLDER/node_modules has Azurite.
//
// Source: "Use the Azurite emulator for local Azure Storage development" for the account; "Authorize with Shared Key" and
// "Create an account SAS" in the REST reference of Azure Storage for the signatures.

import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { join } from "node:path";
import { createInterface } from "node:readline";

const account = "devstoreaccount1";
// The key of the account is the same in every Azurite, and published in its documentation.
const key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

function signed(text) {
  return createHmac("sha256", Buffer.from(key, "base64")).update(text, "utf8").digest("base64");
}

// Permits everything in all containers for a day.
function accountSignature() {
  const version = "2021-08-06";
  const expiry = new Date(Date.now() + 86_400_000).toISOString().replace(/\.\d+Z$/, "Z");
  const [permissions, services, resources] = ["rwdlac", "b", "sco"];
  const text = [account, permissions, services, resources, "", expiry, "", "", version, "", ""].join("\n");
  const fields = { sv: version, ss: services, srt: resources, sp: permissions, se: expiry, sig: signed(text) };
  return new URLSearchParams(fields).toString();
}

async function createContainer(endpoint, name) {
  const headers = { "x-ms-date": new Date().toUTCString(), "x-ms-version": "2021-08-06" };
  const signedHeaders = Object.entries(headers).map(([header, value]) => `${header}:${value}\n`).join("");
  const resource = `/${account}/${account}/${name}\nrestype:container`;
  const text = `PUT${"\n".repeat(12)}${signedHeaders}${resource}`;
  const signature = signed(text);
  const answer = await fetch(`${endpoint}/${name}?restype=container`, {
    method: "PUT",
    headers: { ...headers, authorization: `SharedKey ${account}:${signature}` },
  });
  if (answer.status !== 201) {
    throw new Error(`${name}: ${answer.status} ${await answer.text()}`);
  }
}

const program = join(process.argv[2], "node_modules/azurite/dist/src/blob/main.js");
const server = spawn(
  process.execPath,
  [program, "--blobPort", "0", "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent"],
  { stdio: ["ignore", "pipe", "inherit"] },
);
process.stdin.on("end", () => server.kill()).resume();
process.on("exit", () => server.kill());
server.on("exit", (status) => process.exit(status ?? 0));

for await (const line of createInterface({ input: server.stdout })) {
  const url = line.match(/listens on (http:\S+)/)?.[1];
  if (url !== undefined) {
    const endpoint = `${url}/${account}`;
    await createContainer(endpoint, "bench");
    await createContainer(endpoint, "rules");
    console.log(JSON.stringify({ endpoint, account, key, signature: accountSignature() }));
  }
}
