/**
 * `node scripts/node24.js conformance/record.ts FILE...`: plays scenarios on the server of
 * DRAY_CONFORMANCE_KUBECONFIG, the real kube-apiserver, and prints them with its answers. These replace the
 * present expectations of the steps; a step whose `expect` is `{"status": 0}` keeps no body.
 */
import { readFileSync } from "node:fs";
import { parseJSON } from "@dray/api/codec";
import type { Fields } from "./format.ts";
import { Connection, readAdministrator } from "./scenarios/connection.ts";
import { record } from "./scenarios/play.ts";
import { readScenario } from "./scenarios/scenario.ts";

async function recorded(line: Fields, connection: Connection): Promise<Fields> {
  const steps = line["steps"] as Fields[];
  const asked = { ...line, steps: steps.map((step) => ({ ...step, expect: { status: 0 } })) };
  const answers = await record(readScenario(asked), connection);
  return {
    ...line,
    steps: steps.map(({ expect, ...step }, i) => {
      const { headers, warnings, body, ...answer } = answers[i]!;
      const keepsBody = expect === undefined || Object.hasOwn(expect as object, "body");
      return {
        ...step,
        expect: {
          ...answer,
          ...(warnings.length > 0 ? { warnings } : {}),
          ...(Object.keys(headers).length > 0 ? { headers } : {}),
          ...(keepsBody ? { body } : {}),
        },
      };
    }),
  };
}

async function main(files: readonly string[]): Promise<void> {
  const kubeconfig = process.env["DRAY_CONFORMANCE_KUBECONFIG"];
  if (!kubeconfig || files.length === 0) throw new Error("needs DRAY_CONFORMANCE_KUBECONFIG, and files");
  const connection = new Connection(readAdministrator(kubeconfig));
  try {
    for (const file of files) {
      for (const text of readFileSync(file, "utf8")
        .split("\n")
        .filter((each) => each !== "")) {
        process.stdout.write(`${line(await recorded(parseJSON(text) as Fields, connection))}\n`);
      }
    }
  } finally {
    connection.close();
  }
}

const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/** JSON with the keys as they come: their order is part of a request. */
function line(value: Fields): string {
  return JSON.stringify(value, (_, item: unknown) =>
    typeof item === "bigint" ? rawJSON(String(item)) : item,
  );
}

if (import.meta.main) await main(process.argv.slice(2));
