import { statSync } from "node:fs";
import { parseJSON } from "@dray/api/codec";
import { parseYAMLDocuments } from "@dray/api/yaml";
import { writeFileAtomically } from "@dray/files";
import { readSources } from "../../manifests/files.ts";
import { InputError, type Problem } from "../../manifests/problem.ts";
import {
  type MigratedFile,
  type Migration,
  type MigrationNote,
  migrate as migrateTexts,
} from "../../migrate/migrate.ts";
import { isJSONText } from "../../migrate/text.ts";
import { UsageError } from "../../terminal/failure.ts";
import { printData } from "../../terminal/print-data.ts";
import { remark, say } from "../../terminal/verbosity.ts";
import { counted } from "../../text/words.ts";

export interface MigrateFlags {
  readonly filename: readonly string[];
  readonly recursive?: boolean;
  readonly write?: boolean;
  readonly output?: "json" | "yaml";
  readonly deviceClass: readonly string[];
}

/** Rewrites older manifests as resource.k8s.io/v1. */
export async function migrate(files: readonly string[], flags: MigrateFlags): Promise<void> {
  const filenames = [...files, ...flags.filename];
  if (filenames.length === 0)
    throw new UsageError("name the manifests: files, directories, - for standard input");
  if (flags.write && flags.output !== undefined)
    throw new UsageError("--write writes the files themselves: leave --output out");
  if (flags.write && filenames.includes("-"))
    throw new UsageError("--write: standard input is not a file; without --write the result is printed");
  const deviceClasses = new Map(flags.deviceClass.map(deviceClassOption));
  const { sources, problems } = await readSources(filenames, flags.recursive);
  const migration = migrateTexts(sources, { deviceClasses });
  const errors = [...problems, ...migration.errors.map((error) => syntaxProblem(error, sources))];
  // All or nothing: a partly converted folder is worse than an unchanged one.
  if (errors.length > 0) throw new InputError(errors);
  for (const note of migration.notes) remark(`note: ${noteText(note)}\n`);
  if (flags.write) await write(migration.files);
  else await print(migration.files, flags.output ?? "yaml");
  summarize(migration);
}

function deviceClassOption(text: string): [string, string] {
  const [, resource, deviceClass] = /^([^/=]+\/[^/=]+)=([^/=]+)$/.exec(text) ?? [];
  if (resource === undefined || deviceClass === undefined)
    throw new UsageError(
      `--device-class ${text}: must be RESOURCE=CLASS, as in example.com/gpu=gpu.example.com`,
    );
  return [resource, deviceClass];
}

function syntaxProblem(
  { file, line, message }: Migration["errors"][number],
  sources: readonly { readonly file: string; readonly text: string }[],
): Problem {
  const template = sources.some((source) => source.file === file && source.text.includes("{{"));
  const hints = ["a template of Helm is rendered first: `helm template CHART | dray migrate -`"];
  return { rule: "syntax", file, line, message: `is not YAML: ${message}`, ...(template && { hints }) };
}

const noteText = ({ file, line, object, path, message }: MigrationNote): string =>
  [`${file}:${line}`, object, ...(path === "" ? [] : [path]), message].join(": ");

async function write(files: readonly MigratedFile[]): Promise<void> {
  for (const { file, text, changed } of files) {
    if (changed === 0) continue;
    await writeFileAtomically(file, text, { mode: statSync(file).mode & 0o777, followLink: true });
    say(`${file}: ${counted(changed, "object")} changed\n`);
  }
}

async function print(files: readonly MigratedFile[], format: "json" | "yaml"): Promise<void> {
  if (format === "json") {
    const objects = files.flatMap(({ text }) => objectsOf(text));
    const [only] = objects;
    const list = { apiVersion: "v1", kind: "List", items: objects };
    return printData(objects.length === 1 ? only : list, "json");
  }
  const texts = files.map(({ text }) => text).filter((text) => text.trim() !== "");
  for (const [i, text] of texts.entries()) {
    if (i > 0 && !/^---(?:\s|$)/.test(text)) process.stdout.write("---\n");
    process.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
  }
}

function objectsOf(text: string): unknown[] {
  if (isJSONText(text)) return [parseJSON(text)];
  return parseYAMLDocuments(text).map(({ value }) => value);
}

function summarize({ files, notes }: Migration): void {
  const sum = (field: "objects" | "changed"): number => files.reduce((all, file) => all + file[field], 0);
  const [changed, objects] = [sum("changed"), sum("objects")];
  const what = changed === 0 ? "nothing to migrate" : `${changed} migrated`;
  const look = notes.length === 0 ? "" : `; ${counted(notes.length, "note")} to look at`;
  remark(`${what} of ${counted(objects, "object")}${look}\n`);
}
