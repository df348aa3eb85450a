// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/networking/v1.ts";

export type * from "../../schema/generated/networking/v1.ts";

export interface IPAddress extends types.IPAddress {}
export const IPAddress: Kind<IPAddress> = {"group":"networking.k8s.io","version":"v1","kind":"IPAddress","resource":"ipaddresses","namespaced":false};

export interface Ingress extends types.Ingress {}
export const Ingress: Kind<Ingress> = {"group":"networking.k8s.io","version":"v1","kind":"Ingress","resource":"ingresses","namespaced":true};

export interface IngressClass extends types.IngressClass {}
export const IngressClass: Kind<IngressClass> = {"group":"networking.k8s.io","version":"v1","kind":"IngressClass","resource":"ingressclasses","namespaced":false};

export interface NetworkPolicy extends types.NetworkPolicy {}
export const NetworkPolicy: Kind<NetworkPolicy> = {"group":"networking.k8s.io","version":"v1","kind":"NetworkPolicy","resource":"networkpolicies","namespaced":true};

export interface ServiceCIDR extends types.ServiceCIDR {}
export const ServiceCIDR: Kind<ServiceCIDR> = {"group":"networking.k8s.io","version":"v1","kind":"ServiceCIDR","resource":"servicecidrs","namespaced":false};
