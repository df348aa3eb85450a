import { accessSync, constants, existsSync, readFileSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { kubeconfigEntries, loadKubeconfig, type NewKubeconfig } from "@dray/client";
import type { KubeconfigEntries } from "@dray/client/kubeconfig";
import { followLinksSync, writeFileAtomicallySync } from "@dray/files";
import { defaultName, type Layout, layoutOf } from "../data-dir/layout.ts";
import { regularFile, updateKubeconfigFile } from "./kubeconfig-file.ts";

/** Loaded when it is needed only: it brings a YAML parser. */
const editor = () => import("@dray/client/kubeconfig");

/** The name of the cluster, context and user of a cluster in kubeconfigs. */
export function contextName(clusterName: string): string {
  return clusterName === defaultName ? defaultName : `${defaultName}-${clusterName}`;
}

/** The extension of our entries that says whose they are. */
const extensionName = "dray";

/** The administrator's entries, marked with the data directory of the cluster. */
function ownEntries(layout: Layout, config: NewKubeconfig): KubeconfigEntries {
  const extensions = [{ name: extensionName, extension: { "data-dir": layout.dataDir } }];
  const { clusters, contexts, users } = kubeconfigEntries(config);
  return {
    clusters: { ...clusters, extensions },
    contexts: { ...contexts, extensions },
    users: { ...users, extensions },
  };
}

/** Writes the cluster's own kubeconfig. Entries of others in it stay. */
export async function writeOwnKubeconfig(layout: Layout, config: NewKubeconfig): Promise<void> {
  const { editKubeconfig } = await editor();
  const entries = ownEntries(layout, config);
  const edit = { set: { name: config.name, entries }, currentContext: config.name };
  await updateKubeconfigFile(layout.kubeconfig, (text) => {
    try {
      return editKubeconfig(text, edit);
    } catch {
      // A file of ours that is malformed is made anew.
      return editKubeconfig("", edit);
    }
  });
}

/**
 * The files that get the entries of a cluster beside its own: the one that `--kubeconfig` names, else those
 * of `$KUBECONFIG`; none without both. Relative paths are those of the current directory. Where `$KUBECONFIG`
 * names only the files of other clusters of ours, none: `dray status -o kubeconfig` of those would lead to
 * this cluster.
 */
export function kubeconfigFiles(
  flag: string | undefined,
  layout: Layout,
  env: NodeJS.ProcessEnv = process.env,
): string[] {
  if (flag !== undefined) return [resolve(flag)];
  const listed = listedFiles(env);
  return listed.every((file) => isOfAnotherCluster(file, layout)) ? [] : listed;
}

function listedFiles(env: NodeJS.ProcessEnv): string[] {
  const listed = (env["KUBECONFIG"] ?? "").split(delimiter).filter((name) => name !== "");
  // /dev/null means no kubeconfig.
  return [...new Set(listed.map((name) => resolve(name)))].filter((name) => name !== "/dev/null");
}

/** Reports whether a file is the own kubeconfig of a cluster in another data directory. */
function isOfAnotherCluster(file: string, layout: Layout): boolean {
  if (sameFile(file, layout.kubeconfig)) return false;
  const other = layoutOf(dirname(resolve(followLinksSync(file))));
  return sameFile(file, other.kubeconfig) && existsSync(other.configFile);
}

/** Which of several files gets the entries, and which ones have to name the new current context. */
interface Destination {
  readonly file: string;
  readonly currentIn: readonly string[];
}

/**
 * Chooses as kind does: the first file that has the entries, else the first that exists, else the last. The
 * first file with a current context decides which one kubectl uses.
 *
 * Upstream: client-go, tools/clientcmd/config.go, ModifyConfig.
 */
async function chooseDestination(files: readonly string[], name: string): Promise<Destination | undefined> {
  const { readKubeconfigContent } = await editor();
  const existing = files.filter((file) => regularFile(file) !== undefined);
  const contents = new Map(existing.map((file) => [file, parsed(file, readKubeconfigContent)]));
  const file =
    existing.find((one) => contents.get(one)?.entries(name).contexts !== undefined) ??
    existing[0] ??
    files.at(-1);
  if (file === undefined) return undefined;
  const deciding = existing.find((one) => contents.get(one)?.currentContext !== "");
  const earlier = deciding !== undefined && files.indexOf(deciding) < files.indexOf(file);
  return { file, currentIn: earlier ? [deciding, file] : [file] };
}

/**
 * Throws unless the cluster's entries can be added: an error that names the file and what to do if it cannot
 * be read or written, is malformed, or has entries of somebody else under this name. Changes nothing.
 */
export async function checkKubeconfigs(
  layout: Layout,
  clusterName: string,
  files: readonly string[],
): Promise<void> {
  const name = contextName(clusterName);
  const destination = await chooseDestination(files, name);
  if (destination === undefined) return;
  const { readKubeconfigContent } = await editor();
  for (const file of new Set([destination.file, ...destination.currentIn])) {
    checkWritable(file);
    if (regularFile(file) === undefined) continue;
    checkOwner(file, layout, name, parsed(file, readKubeconfigContent).entries(name));
  }
}

/** An added context, and its file. */
export interface AddedContext {
  readonly file: string;
  readonly context: string;
}

/**
 * Adds cluster, user and context of the administrator to one of the files, from the cluster's own kubeconfig,
 * and makes the context the current one, as kind does. Nothing else in the file changes. Throws as
 * `checkKubeconfigs` does.
 */
export async function addToKubeconfigs(
  layout: Layout,
  clusterName: string,
  files: readonly string[],
): Promise<AddedContext | undefined> {
  const name = contextName(clusterName);
  const destination = await chooseDestination(files, name);
  if (destination === undefined) return undefined;
  const { editKubeconfig, readKubeconfigContent } = await editor();
  const { file, currentIn } = destination;
  if (!sameFile(file, layout.kubeconfig)) {
    const entries = await currentEntries(layout, name);
    // Before the entries are: they are to be found again whatever happens.
    remember(layout, currentIn);
    await updateKubeconfigFile(file, (text) => {
      const content = parsedText(file, text, readKubeconfigContent);
      checkOwner(file, layout, name, content.entries(name));
      return editKubeconfig(text, { set: { name, entries } });
    });
  }
  for (const one of currentIn)
    await updateKubeconfigFile(one, (text) => editKubeconfig(text, { currentContext: name }));
  return { file, context: name };
}

async function currentEntries(layout: Layout, name: string): Promise<KubeconfigEntries> {
  const { connection } = await loadKubeconfig({ file: layout.kubeconfig, context: name, env: {} });
  const { server, ca = "", cert = "", key = "" } = connection;
  return ownEntries(layout, { name, server, ca, cert, key });
}

/**
 * Makes the entries right that earlier starts have added to files: port and certificates may be others now.
 * Files that are gone, and those from which the user has removed the entries, are left; those that cannot be
 * changed are reported to `warn`.
 */
export async function refreshKubeconfigs(
  layout: Layout,
  clusterName: string,
  warn: (message: string) => void,
): Promise<void> {
  const name = contextName(clusterName);
  const files = rememberedFiles(layout);
  if (files.length === 0) return;
  const { editKubeconfig, readKubeconfigContent } = await editor();
  const entries = await currentEntries(layout, name);
  const edit = (file: string, text: string): string => {
    const found = parsedText(file, text, readKubeconfigContent).entries(name);
    const isOurs = Object.keys(found).length > 0 && ownerProblem(layout, found) === undefined;
    return isOurs ? editKubeconfig(text, { set: { name, entries } }) : text;
  };
  for (const file of files) {
    try {
      if (regularFile(file) === undefined) continue;
      // One that is right needs no right to write it.
      const text = readFileSync(file, "utf8");
      if (edit(file, text) !== text) await updateKubeconfigFile(file, (now) => edit(file, now));
    } catch (error) {
      const why = (error as Error).message;
      warn(`the context ${name} in ${file} is of an earlier start, and could not be updated: ${why}`);
    }
  }
}

/**
 * Removes the entries of a cluster from all files that got them; the current context too where it is this
 * one. Files that cannot be changed are reported to `warn` and left.
 */
export async function removeFromKubeconfigs(
  layout: Layout,
  clusterName: string,
  warn: (message: string) => void,
): Promise<void> {
  const name = contextName(clusterName);
  const { editKubeconfig, readKubeconfigContent } = await editor();
  for (const file of rememberedFiles(layout)) {
    try {
      if (regularFile(file) === undefined) continue;
      await updateKubeconfigFile(file, (text) => {
        const content = parsedText(file, text, readKubeconfigContent);
        const entries = content.entries(name);
        const found = Object.keys(entries).length > 0;
        if (found && ownerProblem(layout, entries) !== undefined) return text;
        const current = content.currentContext === name ? { currentContext: "" } : {};
        return editKubeconfig(text, { remove: name, ...current });
      });
    } catch (error) {
      warn(`the context ${name} could not be removed from ${file}: ${(error as Error).message}`);
    }
  }
  rmSync(layout.kubeconfigsFile, { force: true });
  await removeOwn(layout, name);
}

/** Other clusters may have been added to the cluster's own file, as to any other. */
async function removeOwn(layout: Layout, name: string): Promise<void> {
  const { editKubeconfig, readKubeconfigContent } = await editor();
  let text = "";
  try {
    text = editKubeconfig(readFileSync(layout.kubeconfig, "utf8"), { remove: name });
    if (!readKubeconfigContent(text).isEmpty) {
      const current = readKubeconfigContent(text).currentContext === name ? { currentContext: "" } : {};
      writeFileAtomicallySync(layout.kubeconfig, editKubeconfig(text, current));
      return;
    }
  } catch {
    // It is malformed or gone.
  }
  rmSync(layout.kubeconfig, { force: true });
}

function remember(layout: Layout, files: readonly string[]): void {
  const all = [...new Set([...rememberedFiles(layout), ...files])];
  writeFileAtomicallySync(layout.kubeconfigsFile, `${JSON.stringify(all)}\n`, { folderMode: 0o700 });
}

/** The files that have got entries of the cluster. */
export function rememberedFiles(layout: Layout): string[] {
  try {
    // Written by this program.
    return JSON.parse(readFileSync(layout.kubeconfigsFile, "utf8")) as string[];
  } catch {
    return [];
  }
}

function parsed<T>(file: string, parse: (text: string) => T): T {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(`the kubeconfig ${file} cannot be read: ${(error as Error).message}`);
  }
  return parsedText(file, text, parse);
}

function parsedText<T>(file: string, text: string, parse: (text: string) => T): T {
  try {
    return parse(text);
  } catch (error) {
    throw new Error(
      `the kubeconfig ${file} is malformed, and left as it is: ${(error as Error).message}: mend it, or name another with --kubeconfig`,
    );
  }
}

function checkWritable(file: string): void {
  const target = resolve(followLinksSync(file));
  let place = existsSync(target) ? target : dirname(target);
  while (!existsSync(place)) place = dirname(place);
  try {
    accessSync(place, constants.W_OK);
    if (place === target) accessSync(dirname(target), constants.W_OK);
  } catch (error) {
    throw new Error(
      `the kubeconfig ${file} cannot be written: ${(error as Error).message}: name another with --kubeconfig, or unset $KUBECONFIG to use the cluster's own`,
    );
  }
}

function checkOwner(file: string, layout: Layout, name: string, entries: Partial<KubeconfigEntries>): void {
  const problem = ownerProblem(layout, entries);
  if (problem === undefined) return;
  throw new Error(
    `the kubeconfig ${file} has a ${problem} named ${name} already, which is not of the cluster in ${layout.dataDir}: choose another --name for this cluster, or another file with --kubeconfig`,
  );
}

/**
 * The first of the entries that is of somebody else; undefined if all are ours, or of a cluster that is gone.
 */
function ownerProblem(layout: Layout, entries: Partial<KubeconfigEntries>): string | undefined {
  const { clusters } = entries;
  // Somebody may have written the entries anew, without the mark.
  const data = clusters?.["certificate-authority-data"];
  const authority = join(layout.pki, "ca.crt");
  if (typeof data === "string" && existsSync(authority))
    if (Buffer.from(data, "base64").toString() === readFileSync(authority, "utf8")) return undefined;
  for (const [list, item] of [
    ["clusters", "cluster"],
    ["contexts", "context"],
    ["users", "user"],
  ] as const) {
    const value = entries[list];
    if (value === undefined) continue;
    const owner = ownerOf(value);
    const gone = owner !== undefined && !existsSync(join(owner, "pki", "ca.crt"));
    if (owner !== layout.dataDir && !gone) return item;
  }
  return undefined;
}

function ownerOf(value: Readonly<Record<string, unknown>>): string | undefined {
  const extensions = (value["extensions"] ?? []) as readonly { name?: unknown; extension?: unknown }[];
  const ours = extensions.find((one) => one.name === extensionName)?.extension;
  const owner = (ours as Readonly<Record<string, unknown>> | null | undefined)?.["data-dir"];
  return typeof owner === "string" ? owner : undefined;
}

/** Reports whether both paths lead to the same file. */
function sameFile(one: string, other: string): boolean {
  return resolve(followLinksSync(one)) === resolve(followLinksSync(other));
}

/** Reports whether kubectl would find the file by default. */
export function isUsedByDefault(file: string, env: NodeJS.ProcessEnv = process.env): boolean {
  const listed = listedFiles(env);
  if (listed.length > 0) return listed.some((one) => sameFile(one, file));
  const home = env["HOME"] || homedir();
  return sameFile(join(home, ".kube", "config"), file);
}
