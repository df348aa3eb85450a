import { storeConformance } from "./conformance.ts";
import { memoryStore } from "./index.ts";

storeConformance("memory", (clock) => memoryStore(clock));
