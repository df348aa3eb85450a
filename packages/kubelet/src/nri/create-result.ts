import {
  type Container,
  ContainerAdjustment,
  Container as ContainerMessage,
  type CreateContainerResponse,
  Hooks,
  type KeyValue,
  LinuxContainer,
  LinuxContainerAdjustment,
  type LinuxDevice,
  LinuxDevice as LinuxDeviceMessage,
  type LinuxNamespace,
  type LinuxNetDevice,
  LinuxRdt,
  LinuxResources,
  type Mount,
  Mount as MountMessage,
} from "@dray/rpc/nri/v1alpha1";
import { Keyed, listChanges, mapChanges } from "./keyed.ts";
import { type FieldName, NriConflict, type Owners } from "./owners.ts";
import { copyResources, mergeResources } from "./resources.ts";
import type { Updates } from "./updates.ts";

const hookNames = [
  "prestart",
  "createRuntime",
  "createContainer",
  "startContainer",
  "poststart",
  "poststop",
] as const;

const linuxFields: readonly (readonly [
  "oomScoreAdj" | "ioPriority" | "seccompPolicy" | "scheduler" | "memoryPolicy",
  FieldName,
])[] = [
  ["oomScoreAdj", "OomScoreAdj"],
  ["ioPriority", "IoPriority"],
  ["seccompPolicy", "SeccompPolicy"],
  ["scheduler", "LinuxSched"],
  ["memoryPolicy", "MemoryPolicy"],
];

const rdtFields: readonly (readonly ["closId" | "schemata" | "enableMonitoring", FieldName])[] = [
  ["closId", "RdtClosID"],
  ["schemata", "RdtSchemata"],
  ["enableMonitoring", "RdtEnableMonitoring"],
];

/**
 * Combines the changes of all plugins to a container that is being created. Each plugin sees those of the
 * plugins before it.
 *
 * Upstream: containerd/nri, pkg/adaptation/result.go.
 */
export class CreateResult {
  readonly #id: string;
  readonly #owners: Owners;
  readonly #updates: Updates;
  /** The container with all changes so far, except for those in `Keyed`. */
  readonly #container: Container;
  readonly #linux: LinuxContainer;
  readonly #resources: LinuxResources;
  readonly #adjust = ContainerAdjustment.fromPartial({});
  readonly #adjustLinux = LinuxContainerAdjustment.fromPartial({});
  readonly #adjustResources = LinuxResources.fromPartial({});
  readonly #annotations: Keyed<string>;
  readonly #mounts: Keyed<Mount>;
  readonly #env: Keyed<KeyValue>;
  readonly #devices: Keyed<LinuxDevice>;
  readonly #namespaces: Keyed<LinuxNamespace>;
  readonly #sysctl: Keyed<string>;
  readonly #netDevices: Keyed<LinuxNetDevice>;

  constructor(container: Container, owners: Owners, updates: Updates) {
    this.#id = container.id;
    this.#owners = owners;
    this.#updates = updates;
    this.#container = ContainerMessage.fromPartial(container);
    this.#linux = LinuxContainer.fromPartial(container.linux ?? {});
    this.#resources = copyResources(container.linux?.resources);
    this.#annotations = new Keyed("Annotations", Object.entries(container.annotations));
    this.#mounts = new Keyed("Mounts", keyed("destination", container.mounts));
    this.#env = new Keyed("Env", keyed("key", container.env.map(keyValue)));
    this.#devices = new Keyed("Devices", keyed("path", this.#linux.devices));
    this.#namespaces = new Keyed("Namespace", keyed("type", this.#linux.namespaces));
    this.#sysctl = new Keyed("Sysctl", Object.entries(this.#linux.sysctl));
    this.#netDevices = new Keyed("LinuxNetDevices", Object.entries(this.#linux.netDevices));
  }

  /** The container for the next plugin. */
  get container(): Container {
    return {
      ...this.#container,
      annotations: this.#annotations.entries,
      mounts: this.#mounts.values,
      env: this.#env.values.map(({ key, value }) => `${key}=${value}`),
      linux: {
        ...this.#linux,
        devices: this.#devices.values,
        namespaces: this.#namespaces.values,
        sysctl: this.#sysctl.entries,
        netDevices: this.#netDevices.entries,
        resources: this.#resources,
      },
    };
  }

  /** The changes for the runtime. */
  get adjust(): ContainerAdjustment {
    return {
      ...this.#adjust,
      annotations: this.#annotations.changedEntries(""),
      mounts: this.#mounts.changes((destination) => MountMessage.fromPartial({ destination })),
      env: this.#env.changes((key) => ({ key, value: "" })),
      linux: {
        ...this.#adjustLinux,
        devices: this.#devices.changes((path) => LinuxDeviceMessage.fromPartial({ path })),
        namespaces: this.#namespaces.changes((type) => ({ type, path: "" })),
        sysctl: this.#sysctl.changedEntries(""),
        netDevices: this.#netDevices.changedEntries({ name: "" }),
        resources: this.#adjustResources,
      },
    };
  }

  /** Applies the response of a plugin. Throws NriConflict. */
  apply({ adjust, update }: CreateContainerResponse, plugin: string): void {
    if (adjust !== undefined) this.#apply(adjust, plugin);
    for (const each of update) {
      if (each.containerId === this.#id) {
        throw new NriConflict(
          `plugin ${JSON.stringify(plugin)} asked update of ${JSON.stringify(this.#id)} during creation`,
        );
      }
      this.#updates.apply(each, plugin);
    }
  }

  #apply(wanted: ContainerAdjustment, plugin: string): void {
    const owners = this.#owners;
    const id = this.#id;
    const claim = (field: FieldName, key = ""): void => owners.claim(id, field, key, plugin);
    this.#annotations.apply(mapChanges(wanted.annotations), owners, id, plugin);
    this.#mounts.apply(listChanges("destination", wanted.mounts), owners, id, plugin);
    this.#env.apply(listChanges("key", wanted.env), owners, id, plugin);
    this.#args(wanted.args, plugin);
    this.#hooks(wanted.hooks, plugin);
    for (const limit of wanted.rlimits) {
      claim("Rlimits", limit.type);
      this.#adjust.rlimits.push(limit);
      this.#container.rlimits = [...this.#container.rlimits.filter(({ type }) => type !== limit.type), limit];
    }
    for (const device of wanted.CDIDevices) {
      claim("CdiDevices", device.name);
      this.#adjust.CDIDevices.push(device);
    }
    const { linux } = wanted;
    if (linux === undefined) return;
    this.#devices.apply(listChanges("path", linux.devices), owners, id, plugin);
    this.#namespaces.apply(listChanges("type", linux.namespaces), owners, id, plugin);
    this.#sysctl.apply(mapChanges(linux.sysctl), owners, id, plugin);
    this.#netDevices.apply(mapChanges(linux.netDevices), owners, id, plugin);
    if (linux.resources !== undefined)
      mergeResources(linux.resources, [this.#resources, this.#adjustResources], claim);
    if (linux.cgroupsPath !== "") {
      claim("CgroupsPath");
      this.#linux.cgroupsPath = linux.cgroupsPath;
      this.#adjustLinux.cgroupsPath = linux.cgroupsPath;
    }
    for (const [key, field] of linuxFields) {
      const value = linux[key];
      if (value === undefined) continue;
      claim(field);
      Object.assign(this.#linux, { [key]: value });
      Object.assign(this.#adjustLinux, { [key]: value });
    }
    if (linux.rdt !== undefined) this.#rdt(linux.rdt, plugin);
  }

  /** With an empty first argument, a plugin may replace what another one has set. */
  #args(args: readonly string[], plugin: string): void {
    if (args.length === 0) return;
    const replaces = args[0] === "";
    if (replaces) this.#owners.clear(this.#id, "Args", "", plugin);
    this.#owners.claim(this.#id, "Args", "", plugin);
    this.#adjust.args = args.slice(replaces ? 1 : 0);
    this.#container.args = this.#adjust.args;
  }

  #hooks(hooks: Hooks | undefined, plugin: string): void {
    if (hooks === undefined || hookNames.every((name) => hooks[name].length === 0)) return;
    this.#owners.share(this.#id, "OciHooks", plugin);
    const added = (all: Hooks | undefined): Hooks => {
      const sum = Hooks.fromPartial(all ?? {});
      for (const name of hookNames) sum[name] = [...sum[name], ...hooks[name]];
      return sum;
    };
    this.#adjust.hooks = added(this.#adjust.hooks);
    this.#container.hooks = added(this.#container.hooks);
  }

  #rdt(rdt: LinuxRdt, plugin: string): void {
    if (rdt.remove) {
      for (const [, field] of rdtFields) this.#owners.clear(this.#id, field, "", plugin);
      this.#adjustLinux.rdt = LinuxRdt.fromPartial({ remove: true });
    }
    for (const [key, field] of rdtFields) {
      if (rdt[key] === undefined) continue;
      this.#owners.claim(this.#id, field, "", plugin);
      this.#adjustLinux.rdt = {
        ...LinuxRdt.fromPartial(this.#adjustLinux.rdt ?? {}),
        [key]: rdt[key],
        remove: false,
      };
    }
  }
}

function keyed<K extends string, T extends Readonly<Record<K, string>>>(
  name: K,
  items: readonly T[],
): (readonly [string, T])[] {
  return items.map((item) => [item[name], item]);
}

function keyValue(text: string): KeyValue {
  const at = text.indexOf("=");
  return at < 0 ? { key: text, value: "" } : { key: text.slice(0, at), value: text.slice(at + 1) };
}
