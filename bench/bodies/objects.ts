import { encodeProtobuf } from "@dray/api/codec";
import {
  type Case,
  configMap,
  container,
  create,
  fields,
  full,
  items,
  managed,
  map,
  maps,
  most,
  namespace,
  object,
  owner,
  pod,
  protobuf,
  text,
  variable,
} from "./requests.ts";

/** Objects of built-in kinds. */
export const objectBodies: Readonly<Record<string, () => Case>> = {
  "ConfigMap, keys": () => create(maps, configMap({ data: map(() => text) })),
  "ConfigMap, keys, 1 MiB": () => create(maps, configMap({ data: map(() => text, full) })),
  "ConfigMap, keys that are wrong": () => create(maps, configMap({ data: map(() => text, most, "k/") })),
  "ConfigMap, one value": () => create(maps, configMap({ data: { a: "x".repeat(most) } })),
  "ConfigMap, a value of escapes": () => create(maps, configMap({ data: { a: "\n".repeat(most / 2) } })),
  "ConfigMap, numbers for texts": () => create(maps, configMap({ data: map((index) => index) })),
  "ConfigMap, binary": () => create(maps, configMap({ binaryData: map(() => "YQ==") })),
  "ConfigMap, labels": () => create(maps, configMap({}, { labels: map(() => text) })),
  "ConfigMap, labels that are wrong": () =>
    create(maps, configMap({}, { labels: map(() => "/", most, "/k") })),
  "ConfigMap, annotations": () => create(maps, configMap({}, { annotations: map(() => text) })),
  "ConfigMap, finalizers": () => create(maps, configMap({}, { finalizers: items((index) => `a/b${index}`) })),
  "ConfigMap, owners": () => create(maps, configMap({}, { ownerReferences: items(owner) })),
  "ConfigMap, managers": () => create(maps, configMap({}, { managedFields: items(managed) })),
  "ConfigMap, fields of a manager": () =>
    create(maps, configMap({}, { managedFields: [{ ...managed(0), fieldsV1: { "f:data": fields } }] })),
  "ConfigMap, unknown fields": () => create(maps, { ...configMap({}), ...map(() => 1, most, "u") }),
  "ConfigMap, repeated keys": () =>
    create(
      maps,
      `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"o"},"data":{${items(() => [0, 0, 0]).map(() => '"k":"v"')}}}`,
    ),
  "ConfigMap, blanks": () =>
    create(maps, `${JSON.stringify(configMap({ data: { a: "b" } }))}${" ".repeat(most - 100)}`),
  "ConfigMap, protobuf, keys": () =>
    create(maps, Buffer.from(encodeProtobuf(configMap({ data: map(() => text, most) }))), protobuf),
  "ConfigMap, protobuf, 1 MiB of keys": () =>
    create(maps, Buffer.from(encodeProtobuf(configMap({ data: map(() => text, full) }))), protobuf),
  "ConfigMap, fewer keys than the limit": () =>
    create(maps, configMap({ data: map(() => text.repeat(12), most * 0.95) })),
  "Secret, keys": () => create(`${namespace}/secrets`, object("v1", "Secret", { data: map(() => "YQ==") })),
  "Pod, containers": () => create(`${namespace}/pods`, pod({ containers: items(container) })),
  "Pod, environment": () =>
    create(`${namespace}/pods`, pod({ containers: [{ name: "c", image: "i", env: items(variable) }] })),
  "Pod, volumes": () =>
    create(`${namespace}/pods`, pod({ volumes: items((index) => ({ name: `v${index}`, emptyDir: {} })) })),
  "Pod, tolerations": () =>
    create(
      `${namespace}/pods`,
      pod({ tolerations: items((index) => ({ key: `k${index}`, operator: "Exists" })) }),
    ),
  "Pod, arguments": () =>
    create(`${namespace}/pods`, pod({ containers: [{ name: "c", image: "i", args: items(() => "a") }] })),
  "Pod, node selector": () => create(`${namespace}/pods`, pod({ nodeSelector: map(() => text) })),
  "Pod, protobuf, containers": () =>
    create(`${namespace}/pods`, Buffer.from(encodeProtobuf(pod({ containers: items(container) }))), protobuf),
  "Pod, protobuf, environment": () =>
    create(
      `${namespace}/pods`,
      Buffer.from(
        encodeProtobuf(pod({ containers: [{ name: "c", image: "i", env: items(variable, full) }] })),
      ),
      protobuf,
    ),
  "Service, ports": () =>
    create(
      `${namespace}/services`,
      object("v1", "Service", {
        spec: { ports: items((index) => ({ name: `p${index}`, port: 1 + (index % 65_000) })) },
      }),
    ),
  "EndpointSlice, endpoints": () =>
    create(
      "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
      object("discovery.k8s.io/v1", "EndpointSlice", {
        addressType: "IPv4",
        endpoints: items(() => ({ addresses: ["10.0.0.1"] })),
      }),
    ),
  "Endpoints, addresses": () =>
    create(
      `${namespace}/endpoints`,
      object("v1", "Endpoints", {
        subsets: [
          {
            addresses: items((index) => ({
              ip: `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`,
            })),
            ports: [{ port: 1 }],
          },
        ],
      }),
    ),
  "Role, rules": () =>
    create(
      "/apis/rbac.authorization.k8s.io/v1/clusterroles",
      object("rbac.authorization.k8s.io/v1", "ClusterRole", {
        rules: items((index) => ({ apiGroups: [""], resources: [`r${index}`], verbs: ["get"] })),
      }),
    ),
  "ResourceSlice, devices": () =>
    create(
      "/apis/resource.k8s.io/v1/resourceslices",
      object("resource.k8s.io/v1", "ResourceSlice", {
        spec: {
          driver: "d.example.com",
          nodeName: "n",
          pool: { name: "p", resourceSliceCount: 1, generation: 1 },
          devices: items((index) => ({ name: `d${index}`, attributes: { a: { int: 1 } } })),
        },
      }),
    ),
  "ResourceSlice, attributes": () =>
    create(
      "/apis/resource.k8s.io/v1/resourceslices",
      object("resource.k8s.io/v1", "ResourceSlice", {
        spec: {
          driver: "d.example.com",
          nodeName: "n",
          pool: { name: "p", resourceSliceCount: 1, generation: 1 },
          devices: [{ name: "d", attributes: map(() => ({ int: 1 })) }],
        },
      }),
    ),
  "ResourceClaim, requests": () =>
    create(
      "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
      object("resource.k8s.io/v1", "ResourceClaim", {
        spec: {
          devices: { requests: items((index) => ({ name: `r${index}`, exactly: { deviceClassName: "c" } })) },
        },
      }),
    ),
  "ResourceClaim, selectors": () =>
    create(
      "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
      object("resource.k8s.io/v1", "ResourceClaim", {
        spec: {
          devices: {
            requests: [
              {
                name: "r",
                exactly: {
                  deviceClassName: "c",
                  selectors: items((index) => ({ cel: { expression: `device.driver == "d${index}"` } })),
                },
              },
            ],
          },
        },
      }),
    ),
  "DeviceClass, one selector": () =>
    create(
      "/apis/resource.k8s.io/v1/deviceclasses",
      object("resource.k8s.io/v1", "DeviceClass", {
        spec: { selectors: [{ cel: { expression: `true${" || true".repeat(most / 8)}` } }] },
      }),
    ),
  "ValidatingAdmissionPolicy, validations": () =>
    create(
      "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
      object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", {
        spec: {
          matchConstraints: {
            resourceRules: [
              { apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"] },
            ],
          },
          validations: items((index) => ({ expression: `object.metadata.name != "n${index}"` })),
        },
      }),
    ),
  "ValidatingAdmissionPolicy, 300 KB of validations": () =>
    create(
      "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
      object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", {
        spec: {
          matchConstraints: {
            resourceRules: [
              { apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"] },
            ],
          },
          validations: items((index) => ({ expression: `object.metadata.name != "n${index}"` }), 300_000),
        },
      }),
    ),
};
