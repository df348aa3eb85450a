import { createHash } from "node:crypto";
import { existsSync, readdirSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { runBase } from "./run-base.ts";

/** Paths of the files of one cluster. */
export interface Layout {
  readonly dataDir: string;
  /** Configuration of the last start. */
  readonly configFile: string;
  /** Process that runs the cluster: present while it runs, or after a crash. */
  readonly processFile: string;
  /** The process of its agents, likewise. */
  readonly agentsFile: string;
  /** The process of all that is simulated, likewise. */
  readonly simulationFile: string;
  /** States of the agents, written by their process while it runs. */
  readonly nodesFile: string;
  /** Which images run which commands, as `dray image map` has said. */
  readonly imagesFile: string;
  /** Images and network records of nodes that run real containers (`--runtime oci`). */
  readonly ociDir: string;
  readonly database: string;
  readonly pki: string;
  readonly kubeconfig: string;
  /** Kubeconfig of the simulated drivers. */
  readonly driversKubeconfig: string;
  /** Kubeconfig of the simulation of whole nodes. */
  readonly simulatedNodesKubeconfig: string;
  /** Kubeconfig of the Service proxy. */
  readonly proxyKubeconfig: string;
  /** A copy of the fleet file: the cluster continues with what it was made of. */
  readonly fleetFile: string;
  /** Names the other kubeconfigs that got the cluster's entries. */
  readonly kubeconfigsFile: string;
  readonly logs: string;
  /** Data of the claims of the default storage class, by node. */
  readonly volumes: string;
  /** Short, because the paths of unix sockets below it end at 107 bytes. */
  readonly runDir: string;
  /** Socket on which the process that runs the cluster takes requests. */
  readonly controlSocket: string;
  /** The folder that is `/` for the node with this index. */
  nodeRoot(index: number): string;
  nodeKubeconfig(node: string): string;
  nodeVolumes(node: string): string;
}

/** The name of a cluster if none is given. */
export const defaultName = "dray";
const maxNameLength = 63;

/**
 * Throws an error that says what is accepted unless `name` can name a cluster, its folder and its kubeconfig
 * context.
 */
export function checkClusterName(name: string): void {
  if (/^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/.test(name) && name.length <= maxNameLength) return;
  throw new Error(
    `must be at most ${maxNameLength} lower-case letters, digits, "-" and ".", and begin and end with a letter or digit`,
  );
}

/** The data directory of the cluster with this name, unless another is given for it. */
export function dataDirOf(name: string, env: NodeJS.ProcessEnv = process.env): string {
  return join(dataHome(env), name);
}

/** The names that have a data directory, sorted. A cluster whose directory is elsewhere is not among them. */
export function clusterNames(env: NodeJS.ProcessEnv = process.env): string[] {
  const home = dataHome(env);
  if (!existsSync(home)) return [];
  return readdirSync(home)
    .filter((name) => existsSync(layoutOf(join(home, name)).configFile))
    .sort();
}

/** XDG Base Directory Specification: an empty or relative $XDG_DATA_HOME counts as unset. */
function dataHome(env: NodeJS.ProcessEnv): string {
  const shared = env["XDG_DATA_HOME"] ?? "";
  return join(isAbsolute(shared) ? shared : join(homeOf(env), ".local", "share"), "dray");
}

function homeOf(env: NodeJS.ProcessEnv): string {
  const home = env["HOME"] || systemHome();
  if (home !== undefined && isAbsolute(home)) return home;
  throw new Error(
    "there is no home directory to keep the data in: name a folder with --data-dir, or set $XDG_DATA_HOME or $HOME",
  );
}

function systemHome(): string | undefined {
  try {
    return homedir();
  } catch {
    // A user without an entry in the system's list of users has none.
    return undefined;
  }
}

/** The layout below a data directory; creates nothing. */
export function layoutOf(dataDirectory: string): Layout {
  const dataDir = canonical(resolve(dataDirectory));
  const id = createHash("sha256").update(dataDir).digest("hex").slice(0, 8);
  const runDir = join(runBase(id), id);
  const pki = join(dataDir, "pki");
  return {
    dataDir,
    configFile: join(dataDir, "cluster.json"),
    processFile: join(dataDir, "process.json"),
    agentsFile: join(dataDir, "agents.json"),
    simulationFile: join(dataDir, "simulation.json"),
    nodesFile: join(dataDir, "nodes.json"),
    imagesFile: join(dataDir, "images.json"),
    ociDir: join(dataDir, "oci"),
    database: join(dataDir, "state.db"),
    pki,
    kubeconfig: join(dataDir, "kubeconfig"),
    driversKubeconfig: join(pki, "simulated-drivers.kubeconfig"),
    simulatedNodesKubeconfig: join(pki, "simulated-nodes.kubeconfig"),
    proxyKubeconfig: join(pki, "kube-proxy.kubeconfig"),
    fleetFile: join(dataDir, "fleet.yaml"),
    kubeconfigsFile: join(dataDir, "kubeconfigs.json"),
    logs: join(dataDir, "logs"),
    volumes: join(dataDir, "volumes"),
    runDir,
    controlSocket: join(runDir, "control.sock"),
    nodeRoot: (index) => join(runDir, `${index}`),
    nodeKubeconfig: (node) => join(pki, `node-${node}.kubeconfig`),
    nodeVolumes: (node) => join(dataDir, "volumes", node),
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
