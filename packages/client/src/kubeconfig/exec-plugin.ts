import { spawn } from "node:child_process";
import type { Clock } from "../base/clock.ts";
import type { CredentialSource, Credentials } from "../transport/credentials.ts";

/** The field `exec` of a user in a kubeconfig (client.authentication.k8s.io). */
export interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args?: readonly string[] | null;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
  readonly installHint?: string;
  readonly provideClusterInfo?: boolean;
  readonly interactiveMode?: "Never" | "IfAvailable" | "Always";
}

interface ExecCredential {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly status?: {
    readonly expirationTimestamp?: string;
    readonly token?: string;
    readonly clientCertificateData?: string;
    readonly clientKeyData?: string;
  };
}

/**
 * Credentials of a plugin, which is run first on demand, then when they have expired or the server refuses
 * them.
 */
export function execSource(
  plugin: ExecPlugin,
  context: { cluster: object; env: NodeJS.ProcessEnv; clock: Clock },
): CredentialSource {
  let current: { readonly credentials: Credentials; readonly expires: number } | undefined;
  let running: Promise<Credentials> | undefined;
  return {
    get(refused = false) {
      if (!refused && current !== undefined && context.clock.now() < current.expires) {
        return Promise.resolve(current.credentials);
      }
      running ??= (async () => {
        const { status } = await runPlugin(plugin, context);
        if (status?.token === undefined && status?.clientCertificateData === undefined)
          throw new Error(`exec plugin ${plugin.command}: its output has neither a token nor a certificate`);
        const credentials: Credentials = {
          ...(status.token === undefined ? {} : { token: status.token }),
          ...(status.clientCertificateData === undefined ? {} : { cert: status.clientCertificateData }),
          ...(status.clientKeyData === undefined ? {} : { key: status.clientKeyData }),
        };
        const expires =
          status.expirationTimestamp === undefined
            ? Number.POSITIVE_INFINITY
            : Date.parse(status.expirationTimestamp);
        current = { credentials, expires };
        return credentials;
      })().finally(() => {
        running = undefined;
      });
      return running;
    },
  };
}

async function runPlugin(
  plugin: ExecPlugin,
  { cluster, env }: { cluster: object; env: NodeJS.ProcessEnv },
): Promise<ExecCredential> {
  const interactive = plugin.interactiveMode !== "Never" && process.stdin.isTTY === true;
  if (plugin.interactiveMode === "Always" && !interactive)
    throw new Error(
      `exec plugin ${plugin.command} needs a terminal (interactiveMode Always), and stdin is not a terminal`,
    );
  const info = {
    apiVersion: plugin.apiVersion,
    kind: "ExecCredential",
    spec: { interactive, ...(plugin.provideClusterInfo === true ? { cluster } : {}) },
  };
  const added = Object.fromEntries((plugin.env ?? []).map(({ name, value }) => [name, value]));
  const output = await new Promise<string>((resolve, reject) => {
    const child = spawn(plugin.command, plugin.args ?? [], {
      env: { ...env, ...added, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
      stdio: [interactive ? "inherit" : "ignore", "pipe", "inherit"],
    });
    const parts: Buffer[] = [];
    child.stdout.on("data", (part: Buffer) => parts.push(part));
    child.on("error", (error) => {
      const hint = plugin.installHint === undefined ? "" : `\n${plugin.installHint}`;
      reject(
        new Error(`exec plugin ${plugin.command} cannot be run: ${error.message}${hint}`, { cause: error }),
      );
    });
    child.on("close", (code, signal) => {
      if (code === 0) resolve(Buffer.concat(parts).toString("utf8"));
      else reject(new Error(`exec plugin ${plugin.command} failed with ${signal ?? `exit code ${code}`}`));
    });
  });
  let credential: ExecCredential;
  try {
    // A program in Go leaves out what it has not set; null counts as unset below.
    credential = (JSON.parse(output) ?? {}) as ExecCredential;
  } catch (error) {
    throw new Error(`exec plugin ${plugin.command}: its output is not JSON`, { cause: error });
  }
  if (credential.kind !== "ExecCredential" || credential.apiVersion !== plugin.apiVersion) {
    throw new Error(
      `exec plugin ${plugin.command} returned ${credential.kind} of ${credential.apiVersion}; expected ExecCredential of ${plugin.apiVersion}`,
    );
  }
  return credential;
}
