/** Manifests that the cases modify. */

/** Two nodes with two GPUs each, of 40Gi and 80Gi; one device of another driver; a namespace; a class. */
export const cluster = `
apiVersion: v1
kind: Node
metadata: {name: one, labels: {kubernetes.io/hostname: one}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: two, labels: {kubernetes.io/hostname: two, disk: ssd}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: one}
spec:
  driver: gpu.example.com
  nodeName: one
  pool: {name: one, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: a, attributes: {numa: {int: 0}, vendor: {string: acme}}, capacity: {memory: {value: 40Gi}}}
  - {name: b, attributes: {numa: {int: 1}}, capacity: {memory: {value: 40Gi}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: two}
spec:
  driver: gpu.example.com
  nodeName: two
  pool: {name: two, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: a, attributes: {numa: {int: 0}}, capacity: {memory: {value: 80Gi}}}
  - {name: b, attributes: {numa: {int: 1}}, capacity: {memory: {value: 80Gi}}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: device.driver == "gpu.example.com"}}]}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: nic}
spec: {selectors: [{cel: {expression: device.driver == "nic.example.com"}}]}
---
apiVersion: v1
kind: Namespace
metadata: {name: default}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: there}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
`;

export const claim = (exactly: string, more = ""): string => `apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec:
  devices:
    requests:
    - name: r
      exactly:
        deviceClassName: gpu
        ${exactly}
${more}`;

export const template = (name: string): string => `apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: ${name}}
spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}
`;

export const pod = (spec: string, claims = "[]"): string => `apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: main
    image: i
    resources: {claims: ${claims}}
  ${spec}
`;
