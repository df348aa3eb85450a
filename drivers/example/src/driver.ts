import type { Log } from "@dray/client";
import type { AllocatedClaim, ClaimStatusWriter, DeviceEdits, Driver } from "@dray/driver";
import { type Profile, variablePrefix } from "./profiles/profile.ts";

export interface ExampleDriverOptions<C> {
  readonly nodeName: string;
  /** By default `<profile>.example.com`. */
  readonly driverName?: string;
  readonly profile: Profile<C>;
  /** Writes attributes of devices to `status.devices[].data` of claims; undefined: does not. */
  readonly status?: { readonly writer: ClaimStatusWriter; readonly log: Log };
}

/**
 * A driver of simulated devices: containers only get environment variables with their devices. The names are
 * those of the public example driver, `dra-example-driver`.
 */
export function exampleDriver<C>({
  nodeName,
  profile,
  driverName = `${profile.name}.example.com`,
  status,
}: ExampleDriverOptions<C>): Driver<C> {
  const devices = new Map(profile.pool.devices.map((device) => [device.name, device]));
  return {
    name: driverName,
    cdi: {
      kind: `k8s.${driverName}/${profile.name}`,
      common: { env: [`KUBERNETES_NODE_NAME=${nodeName}`, `DRA_RESOURCE_DRIVER_NAME=${driverName}`] },
    },
    parameters: profile.parameters,
    async *discover() {
      yield [profile.pool];
    },
    async prepare(claim) {
      const unknown = claim.devices.find(({ result }) => !devices.has(result.device));
      if (unknown !== undefined)
        throw new Error(`there is no device ${unknown.result.device} on ${nodeName}`);
      if (status !== undefined) await writeStatus(claim, status);
      return claim.devices.map(
        (device): DeviceEdits<C> => ({
          device,
          edits: {
            env: [
              ...profile.variables(device),
              `${variablePrefix(profile.name, device.result.device)}_RESOURCE_CLAIM=${claim.uid}`,
              `DRA_ADMIN_ACCESS=${hasAdminAccess(claim)}`,
            ],
          },
        }),
      );
    },
    // A simulated device needs no clean-up.
    async unprepare() {},
  };

  /** The data is optional for a claim, so failures are only logged. */
  async function writeStatus(
    claim: AllocatedClaim<C>,
    { writer, log }: NonNullable<typeof status>,
  ): Promise<void> {
    const names = profile.statusAttributes ?? [];
    try {
      await writer.write(
        claim,
        claim.devices.map(({ result }) => {
          const attributes = Object.entries(devices.get(result.device)?.attributes ?? {});
          return {
            device: result,
            data: Object.fromEntries(attributes.filter(([name]) => names.includes(name))),
          };
        }),
      );
    } catch (error) {
      const { namespace, name } = claim;
      log.error(
        { claim: `${namespace}/${name}`, error: (error as Error).message },
        "The status of devices cannot be written",
      );
    }
  }
}

/**
 * Reports whether the container has admin access. One variable covers all devices: usually a claim has admin
 * access to all of them or none.
 */
function hasAdminAccess<C>({ devices }: AllocatedClaim<C>): boolean {
  return devices.some(({ result }) => result.adminAccess === true);
}
