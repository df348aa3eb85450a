export { startCluster, type TestCluster, type TestClusterOptions, type TestNode } from "./start.ts";
