/** What the program is told by its environment; the names are those of the public example driver. */
export interface Environment {
  readonly nodeName: string;
  readonly deviceCount: number;
  readonly driverName: string;
  readonly registrarDirectory: string;
  readonly pluginsDirectory: string;
  readonly cdiDirectory: string;
  readonly podUID?: string;
  readonly healthcheck?: { readonly host: string; readonly port: number };
}

/** Throws an error that names the variable, its value and what would be accepted. */
export function readEnvironment(env: NodeJS.ProcessEnv): Environment {
  const nodeName = env["NODE_NAME"];
  if (!nodeName) throw new Error("NODE_NAME must be the name of the node that this runs on");
  const profile = env["DEVICE_PROFILE"] || "gpu";
  if (profile !== "gpu")
    throw new Error(`DEVICE_PROFILE ${JSON.stringify(profile)} is not supported, supported is "gpu"`);
  const port = integer(env, "HEALTHCHECK_PORT", -1, -1, 65535);
  const podUID = env["POD_UID"];
  return {
    nodeName,
    deviceCount: integer(env, "NUM_DEVICES", 8, 0, 100_000),
    driverName: env["DRIVER_NAME"] || `${profile}.example.com`,
    registrarDirectory: env["KUBELET_REGISTRAR_DIRECTORY_PATH"] || "/var/lib/kubelet/plugins_registry",
    pluginsDirectory: env["KUBELET_PLUGINS_DIRECTORY_PATH"] || "/var/lib/kubelet/plugins",
    cdiDirectory: env["CDI_ROOT"] || "/etc/cdi",
    ...(podUID ? { podUID } : {}),
    // Where pods share the network of the host, each has a loopback address of its own.
    ...(port < 0 ? {} : { healthcheck: { host: env["DRAY_POD_IP"] || "0.0.0.0", port } }),
  };
}

function integer(
  env: NodeJS.ProcessEnv,
  name: string,
  otherwise: number,
  lowest: number,
  highest: number,
): number {
  const text = env[name];
  if (text === undefined || text === "") return otherwise;
  const value = Number(text);
  if (!/^-?\d+$/.test(text) || value < lowest || value > highest) {
    throw new Error(`${name} ${JSON.stringify(text)} must be an integer from ${lowest} to ${highest}`);
  }
  return value;
}
