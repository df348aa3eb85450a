import { join } from "node:path";
import { type RpcServer, service, unixChannel, unixServer } from "@dray/rpc";
import {
  type ContainerAllocateResponse,
  type Device,
  DevicePluginDefinition,
  type DevicePluginOptions,
  RegistrationDefinition,
} from "@dray/rpc/deviceplugin/v1beta1";
import {
  type PluginInfo,
  RegistrationDefinition as PluginRegistrationDefinition,
} from "@dray/rpc/pluginregistration/v1";

/** A device in short form. */
export const device = (ID: string, numa?: number | readonly number[], health = "Healthy"): Device => ({
  ID,
  health,
  topology: numa === undefined ? undefined : { nodes: [numa].flat().map((ID) => ({ ID })) },
});

/** Default response of Allocate: a variable with the devices. */
const answer = (ids: readonly string[]): Partial<ContainerAllocateResponse> => ({
  envs: { DEVICES: ids.join() },
});

/** A device plugin on real sockets that records its calls. */
export interface TestPlugin {
  /** `allocate a,b`, `preferred 2 of a,b,c with a`, `preStart a`. */
  readonly calls: string[];
  /** Results of registrations in `plugins_registry`. */
  readonly registered: { pluginRegistered: boolean; error: string }[];
  readonly socket: string;
  /** Sends the list of devices. */
  report(devices: readonly Device[]): void;
  /** Responses of the next calls. */
  allocate: (ids: readonly string[]) => Partial<ContainerAllocateResponse> | Promise<never>;
  preferred: (
    available: readonly string[],
    mustInclude: readonly string[],
    size: number,
  ) => readonly string[];
  preStart: (ids: readonly string[]) => Promise<void>;
  /** Registers on `kubelet.sock`. Rejects with the kubelet's error. */
  register(resource: string, version?: string, endpoint?: string): Promise<void>;
  /** Ends the running streams, as a plugin that crashes does; the server goes on. */
  endStreams(): void;
  close(): Promise<void>;
}

export interface TestPluginOptions extends Partial<DevicePluginOptions> {
  /** Folder `device-plugins` of the node. */
  readonly directory: string;
  readonly name?: string;
  readonly devices?: readonly Device[];
  /** Adds the registration service to the socket, for `plugins_registry`. */
  readonly info?: Partial<PluginInfo>;
}

export async function testPlugin(options: TestPluginOptions): Promise<TestPlugin> {
  const { directory, name = "test.sock", info } = options;
  const list = new DeviceList(options.devices ?? []);
  const plugin: TestPlugin = {
    calls: [],
    registered: [],
    socket: join(directory, name),
    report: (devices) => list.report(devices),
    allocate: answer,
    preferred: () => [],
    preStart: async () => {},
    async register(resourceName, apiVersion = "v1beta1", endpoint = name) {
      const channel = unixChannel(join(directory, "kubelet.sock"));
      try {
        await channel
          .caller(RegistrationDefinition)
          .register({ version: apiVersion, endpoint, resourceName, options: undefined }, { timeout: 30_000 });
      } finally {
        channel.close();
      }
    },
    endStreams: () => list.endStreams(),
    async close() {
      this.endStreams();
      await server.close(0);
    },
  };
  const server: RpcServer = await unixServer(plugin.socket, [
    devicePluginService(plugin, list, options),
    ...(info === undefined ? [] : [registrationService(plugin, info)]),
  ]);
  return plugin;
}

const noResponse: ContainerAllocateResponse = {
  envs: {},
  mounts: [],
  devices: [],
  annotations: {},
  cdiDevices: [],
};

function devicePluginService(plugin: TestPlugin, list: DeviceList, options: TestPluginOptions) {
  return service(DevicePluginDefinition, {
    getDevicePluginOptions: async () => ({
      preStartRequired: options.preStartRequired ?? false,
      getPreferredAllocationAvailable: options.getPreferredAllocationAvailable ?? false,
    }),
    listAndWatch: (_, { signal }) => list.responses(signal),
    async getPreferredAllocation({ containerRequests }) {
      return {
        containerResponses: containerRequests.map(
          ({ availableDeviceIDs, mustIncludeDeviceIDs, allocationSize }) => {
            const must = mustIncludeDeviceIDs.length > 0 ? ` with ${mustIncludeDeviceIDs.join()}` : "";
            plugin.calls.push(`preferred ${allocationSize} of ${availableDeviceIDs.join()}${must}`);
            return {
              deviceIDs: [...plugin.preferred(availableDeviceIDs, mustIncludeDeviceIDs, allocationSize)],
            };
          },
        ),
      };
    },
    async allocate({ containerRequests }) {
      const containerResponses: ContainerAllocateResponse[] = [];
      for (const { devicesIds } of containerRequests) {
        plugin.calls.push(`allocate ${devicesIds.join()}`);
        containerResponses.push({ ...noResponse, ...(await plugin.allocate(devicesIds)) });
      }
      return { containerResponses };
    },
    async preStartContainer({ devicesIds }) {
      plugin.calls.push(`preStart ${devicesIds.join()}`);
      await plugin.preStart(devicesIds);
      return {};
    },
  });
}

function registrationService(plugin: TestPlugin, info: Partial<PluginInfo>) {
  return service(PluginRegistrationDefinition, {
    getInfo: async () => ({
      type: "DevicePlugin",
      name: "example.com/device",
      endpoint: "",
      supportedVersions: ["v1beta1"],
      ...info,
    }),
    async notifyRegistrationStatus(status) {
      plugin.registered.push(status);
      return {};
    },
  });
}

/** The devices of a plugin, for any number of streams. */
class DeviceList {
  #devices: readonly Device[];
  #version = 0;
  #ended = 0;
  readonly #listeners = new Set<() => void>();

  constructor(devices: readonly Device[]) {
    this.#devices = devices;
  }

  report(devices: readonly Device[]): void {
    this.#devices = devices;
    this.#version++;
    this.#wake();
  }

  endStreams(): void {
    this.#ended++;
    this.#wake();
  }

  #wake(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** The list, and again after each change. */
  async *responses(signal: AbortSignal): AsyncGenerator<{ devices: Device[] }> {
    const begun = this.#ended;
    let sent = -1;
    while (begun === this.#ended && !signal.aborted) {
      if (sent !== this.#version) {
        sent = this.#version;
        yield { devices: [...this.#devices] };
        continue;
      }
      await new Promise<void>((resolve) => {
        const done = (): void => {
          this.#listeners.delete(done);
          signal.removeEventListener("abort", done);
          resolve();
        };
        this.#listeners.add(done);
        signal.addEventListener("abort", done);
      });
    }
  }
}
