import { existsSync, lstatSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { isExtendedResourceName } from "@dray/api";
import type { Log } from "@dray/client";
import { makeFolderSync } from "@dray/files";
import { RpcError, type RpcServer, service, unixServer } from "@dray/rpc";
import { RegistrationDefinition } from "@dray/rpc/deviceplugin/v1beta1";
import { shortened } from "../base/text.ts";

/** Version of the device plugin API. */
const apiVersion = "v1beta1";

/** Maximum length of the name of a resource: a domain, a slash, and a name. */
const maxName = 253 + 1 + 63;
/** Maximum length of an endpoint in characters. */
const maxEndpoint = 4096;
/** Maximum number of plugins that are dialled concurrently. */
const maxRegistering = 64;

export interface RegistrationServerOptions {
  /** `<root>/device-plugins` */
  readonly directory: string;
  readonly log: Log;
  /** Connects to the plugin; rejects if it does not answer. */
  connect(resource: string, socket: string): Promise<void>;
}

/**
 * Serves `kubelet.sock`, on which plugins register. Deletes every socket in the folder at the start, so that
 * plugins notice the restart; other files stay.
 *
 * Upstream: pkg/kubelet/cm/devicemanager/plugin/v1beta1/server.go
 */
export async function serveRegistration(options: RegistrationServerOptions): Promise<RpcServer> {
  const { directory, log } = options;
  makeFolderSync(directory, 0o750);
  for (const name of readdirSync(directory)) {
    const path = join(directory, name);
    try {
      if (lstatSync(path).isSocket()) rmSync(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT")
        log.warn({ path, err: error }, "a socket of an earlier device plugin could not be removed");
    }
  }
  let registering = 0;
  return unixServer(join(directory, "kubelet.sock"), [
    service(RegistrationDefinition, {
      async register({ version, resourceName, endpoint }) {
        const shown = shortened(resourceName, 100);
        if (registering >= maxRegistering)
          throw new RpcError("ResourceExhausted", `${maxRegistering} device plugins register already`);
        registering++;
        try {
          checkVersions(version);
          checkResourceName(resourceName);
          const socket = socketOf(directory, endpoint);
          await options.connect(resourceName, socket);
        } catch (error) {
          log.warn(
            { resource: shown, endpoint: shortened(endpoint, 200), err: error },
            "bad registration of a device plugin",
          );
          throw error;
        } finally {
          registering--;
        }
        return {};
      },
    }),
  ]);
}

/** Throws upstream's error unless one of the versions is supported. */
export function checkVersions(...versions: readonly string[]): void {
  if (versions.includes(apiVersion)) return;
  const [first = ""] = versions;
  throw new Error(
    `requested API version ${quoted(first)} is not supported by kubelet. Supported version is ["${apiVersion}"]`,
  );
}

/** Throws upstream's error if the name is not that of an extended resource. */
export function checkResourceName(name: string): void {
  // Checks the length first: the patterns are slow on long texts.
  if (name.length > maxName || !isExtendedResourceName(name))
    throw new Error(
      `the ResourceName ${quoted(name)} is invalid: it must be DOMAIN/NAME, of a domain other than kubernetes.io`,
    );
}

function quoted(text: string): string {
  return JSON.stringify(shortened(text, 100));
}

/** Resolves the socket that a plugin names in the folder. Throws if it lies elsewhere. */
function socketOf(directory: string, endpoint: string): string {
  const refuse = (problem: string): never => {
    throw new Error(
      `endpoint ${quoted(endpoint)} ${problem}; it must be the name of a socket in the folder of device plugins`,
    );
  };
  if (endpoint === "" || endpoint.length > maxEndpoint || endpoint.includes("\0")) refuse("is invalid");
  const path = join(directory, endpoint);
  if (!path.startsWith(`${directory}/`)) refuse("leads out of the folder");
  // A missing socket may still be created, and dialling waits for it.
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found !== undefined && !found.isSocket()) refuse("is not a socket");
  const folder = dirname(path);
  if (folder !== directory && existsSync(folder)) {
    const [real, inside] = [realpathSync(directory), realpathSync(folder)];
    if (inside !== real && !inside.startsWith(`${real}/`)) refuse("leads out of the folder");
  }
  return path;
}
