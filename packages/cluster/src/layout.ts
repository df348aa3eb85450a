import { createHash } from "node:crypto";
import { accessSync, constants, realpathSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { basename, dirname, join, resolve } from "node:path";

/** Where everything of one cluster lies. */
export interface Layout {
  readonly dataDir: string;
  /** What the cluster was last started with. */
  readonly configFile: string;
  /** Who runs it: present while it runs, or after a crash. */
  readonly processFile: string;
  /** The process of its agents, likewise. */
  readonly agentsFile: string;
  readonly database: string;
  readonly pki: string;
  readonly kubeconfig: string;
  readonly logs: string;
  /** Short, because the paths of unix sockets below it end at 107 bytes. */
  readonly runDir: string;
  /** The folder that is `/` for the node with this index. */
  nodeRoot(index: number): string;
  nodeKubeconfig(node: string): string;
}

/** The data directory of a cluster for which none is named. */
export function defaultDataDir(env: NodeJS.ProcessEnv = process.env): string {
  return join(env["XDG_DATA_HOME"] ?? join(homedir(), ".local", "share"), "dray", "default");
}

/** The layout below a data directory; creates nothing. */
export function layoutOf(dataDirectory: string): Layout {
  const dataDir = canonical(resolve(dataDirectory));
  const id = createHash("sha256").update(dataDir).digest("hex").slice(0, 8);
  const runDir = join(runBase(), id);
  const pki = join(dataDir, "pki");
  return {
    dataDir,
    configFile: join(dataDir, "cluster.json"),
    processFile: join(dataDir, "process.json"),
    agentsFile: join(dataDir, "agents.json"),
    database: join(dataDir, "state.db"),
    pki,
    kubeconfig: join(dataDir, "kubeconfig"),
    logs: join(dataDir, "logs"),
    runDir,
    nodeRoot: (index) => join(runDir, `${index}`),
    nodeKubeconfig: (node) => join(pki, `node-${node}.kubeconfig`),
  };
}

/** The one name of a path, whichever links lead there: the run directory depends on it. */
function canonical(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // It is not there yet; its parent may be.
    return dirname(path) === path ? path : join(canonical(dirname(path)), basename(path));
  }
}

function runBase(): string {
  const { uid } = userInfo();
  if (uid === 0 && isWritable("/run")) return "/run/dray";
  // Not tmpdir(): on some systems its path alone is half of what a socket may have.
  return `/tmp/dray-${uid}`;
}

/** Root of a user name space may not write where the machine's root may. */
function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
