import { memoryStore } from "../index.ts";
import { storeConformance } from "../testing/conformance.ts";

storeConformance("memory", (clock) => memoryStore(clock));
