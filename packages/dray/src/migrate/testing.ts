/** Random manifests of older versions. */
import type { Random } from "@dray/testing/random";

/** Returns a list of valid objects of older releases. */
export const oldManifests = (random: Random): object => new OldManifests(random).list();

type Plain = Record<string, unknown>;

const names = ["a", "b", "c"];
const driver = "gpu.example.com";
const betas = ["v1alpha3", "v1beta1", "v1beta2"];
const classic = "resource.k8s.io/v1alpha2";

class OldManifests {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  list(): object {
    const makers = [
      (name: string) => this.#structuredClaim(name),
      (name: string) => this.#structuredTemplate(name),
      (name: string) => this.#classicClaim(name),
      (name: string) => this.#classicTemplate(name),
      (name: string) => this.#classicClass(name),
      (name: string) => this.#parameters(name),
      (name: string) => ({ apiVersion: "v1", kind: "Pod", metadata: { name }, spec: this.#podSpec() }),
      (name: string) => this.#job(name),
    ];
    // Some kinds are excluded: a class always changes.
    const always = {
      apiVersion: "resource.k8s.io/v1beta2",
      kind: "DeviceClass",
      metadata: { name: "always" },
      spec: {},
    };
    const items = Array.from({ length: 1 + this.#random.below(5) }, (_, i) =>
      this.#random.pick(makers)(`claim-${i}`),
    );
    return { apiVersion: "v1", kind: "List", items: [always, ...items] };
  }

  #maybe(field: string, value: () => unknown): Plain {
    return this.#random.chance(0.5) ? { [field]: value() } : {};
  }

  #selectors(): unknown[] {
    const old = { cel: { expression: `device.attributes["${driver}/model"] == "a100"` } };
    return [
      { cel: { expression: `device.driver == "${driver}"` } },
      ...(this.#random.chance(0.3) ? [old] : []),
    ];
  }

  #exact(): Plain {
    const counted = { allocationMode: "ExactCount", count: 1 + this.#random.below(3) };
    return {
      deviceClassName: this.#random.pick(names),
      ...this.#maybe("selectors", () => this.#selectors()),
      ...(this.#random.chance(0.5) ? counted : this.#maybe("allocationMode", () => "All")),
    };
  }

  #structuredSpec(version: string): Plain {
    const requests = names.slice(0, 1 + this.#random.below(3)).map((name) => {
      const small = { name: "small", deviceClassName: "a" };
      if (version !== "v1alpha3" && this.#random.chance(0.3))
        return { name, firstAvailable: [{ name: "big", ...this.#exact() }, small] };
      return version === "v1beta2" ? { name, exactly: this.#exact() } : { name, ...this.#exact() };
    });
    return {
      devices: {
        requests,
        ...this.#maybe("constraints", () => [{ matchAttribute: `${driver}/numa` }]),
        ...this.#maybe("config", () => [{ opaque: { driver, parameters: { mode: "x" } } }]),
      },
      ...(version === "v1alpha3" ? this.#maybe("controller", () => driver) : {}),
    };
  }

  #structuredClaim(name: string): Plain {
    const version = this.#random.pick(betas);
    const spec = this.#structuredSpec(version);
    return { apiVersion: `resource.k8s.io/${version}`, kind: "ResourceClaim", metadata: { name }, spec };
  }

  #structuredTemplate(name: string): Plain {
    const version = this.#random.pick(betas);
    const spec = {
      spec: this.#structuredSpec(version),
      ...this.#maybe("metadata", () => ({ labels: { a: "b" } })),
    };
    return {
      apiVersion: `resource.k8s.io/${version}`,
      kind: "ResourceClaimTemplate",
      metadata: { name },
      spec,
    };
  }

  #classicSpec(): Plain {
    return {
      resourceClassName: this.#random.pick(names),
      ...this.#maybe("allocationMode", () => this.#random.pick(["Immediate", "WaitForFirstConsumer"])),
      ...this.#maybe("parametersRef", () => ({
        kind: "GpuClaimParameters",
        name: this.#random.pick(["p", "missing"]),
      })),
    };
  }

  #classicClaim(name: string): Plain {
    return { apiVersion: classic, kind: "ResourceClaim", metadata: { name }, spec: this.#classicSpec() };
  }

  #classicTemplate(name: string): Plain {
    const spec = { spec: this.#classicSpec() };
    return { apiVersion: classic, kind: "ResourceClaimTemplate", metadata: { name }, spec };
  }

  #classicClass(name: string): Plain {
    return { apiVersion: classic, kind: "ResourceClass", metadata: { name }, driverName: driver };
  }

  #parameters(name: string): Plain {
    const selectors = [
      'attributes.string["model"] == "x"',
      "attributes.bool.fast",
      '"x" in attributes.stringslice["l"]',
    ];
    const requests = Array.from({ length: 1 + this.#random.below(2) }, () => ({
      namedResources: { selector: this.#random.pick(selectors) },
      ...this.#maybe("vendorParameters", () => ({ b: "x" })),
    }));
    return {
      apiVersion: classic,
      kind: "ResourceClaimParameters",
      metadata: { name },
      generatedFrom: { kind: "GpuClaimParameters", name: "p" },
      driverRequests: [
        { driverName: driver, ...this.#maybe("vendorParameters", () => ({ a: 1 })), requests },
      ],
    };
  }

  #podSpec(): Plain {
    const limits = (): Plain => ({
      cpu: "1",
      "nvidia.com/gpu": this.#random.below(4),
      ...this.#maybe("nvidia.com/mig-1g.5gb", () => "2"),
    });
    const containers = names.slice(0, 1 + this.#random.below(3)).map((name) => ({
      name,
      image: "i",
      resources: { ...this.#maybe("limits", limits), ...this.#maybe("claims", () => [{ name: "claim" }]) },
    }));
    const init = {
      name: "i",
      image: "i",
      resources: { limits: { "nvidia.com/gpu": `${1 + this.#random.below(2)}` } },
    };
    const field = this.#random.pick(["resourceClaimName", "resourceClaimTemplateName"]);
    const nested = { name: "claim", source: { [field]: "claim-0" } };
    const claim = this.#random.chance(0.5) ? nested : { name: "claim", resourceClaimName: "claim-0" };
    return { containers, ...this.#maybe("initContainers", () => [init]), resourceClaims: [claim] };
  }

  #job(name: string): Plain {
    const spec = { template: { spec: { ...this.#podSpec(), restartPolicy: "Never" } } };
    return { apiVersion: "batch/v1", kind: "Job", metadata: { name }, spec };
  }
}
