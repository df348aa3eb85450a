/*
 * A simulated NVIDIA driver library: what drivers of Kubernetes ask of NVML, for GPUs that a file describes. Functions
 * that are not here return NVML_ERROR_NOT_SUPPORTED (see build), as the real ones do for what a GPU cannot.
 *
 * The file `gpus` beside the library has a line `driver VERSION CUDA`, and one line for each GPU, in the order of their
 * minor numbers:  gpu UUID PCI_BUS_ID MEMORY_MIB MAJOR.MINOR NAME
 * A line `xid UUID NUMBER` that is appended to the file `events` beside it is an event of that GPU.
 *
 * Upstream: nvml.h of github.com/NVIDIA/go-nvml, where handles are structs that hold a pointer.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#include "nvml.h"

#define MAX_GPUS 64
#define EVENT_POLL_MS 100

struct nvmlDevice_st {
	unsigned int minor;
	char uuid[NVML_DEVICE_UUID_BUFFER_SIZE];
	char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
	unsigned int domain, bus, device;
	unsigned long long memory;
	int major_capability, minor_capability;
};

struct nvmlEventSet_st {
	/* Registered types by GPU. */
	unsigned long long types[MAX_GPUS];
	/* How much of the file of events was there before. */
	long offset;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct nvmlDevice_st gpus[MAX_GPUS];
static unsigned int count;
static char driver_version[NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE];
static int cuda_version;
static int sessions;

/* The path of a file beside this library. */
static void beside(const char *name, char path[PATH_MAX])
{
	Dl_info info;
	char own[PATH_MAX] = "";
	if (dladdr((void *)beside, &info) && realpath(info.dli_fname, own) == NULL) own[0] = 0;
	snprintf(path, PATH_MAX, "%s/%s", dirname(own), name);
}

static nvmlReturn_t load(void)
{
	char path[PATH_MAX], line[512];
	beside("gpus", path);
	FILE *file = fopen(path, "r");
	if (file == NULL) {
		fprintf(stderr, "nvml: %s: cannot be read\n", path);
		return NVML_ERROR_DRIVER_NOT_LOADED;
	}
	count = 0;
	while (fgets(line, sizeof line, file) != NULL) {
		struct nvmlDevice_st gpu = {.minor = count};
		if (sscanf(line, "driver %79s %d", driver_version, &cuda_version) == 2) continue;
		if (count < MAX_GPUS && sscanf(line, "gpu %79s %x:%x:%x.0 %llu %d.%d %95[^\n]", gpu.uuid, &gpu.domain, &gpu.bus,
				&gpu.device, &gpu.memory, &gpu.major_capability, &gpu.minor_capability, gpu.name) == 8) {
			gpu.memory <<= 20;
			gpus[count++] = gpu;
			continue;
		}
		fprintf(stderr, "nvml: %s: must be `driver VERSION CUDA` or `gpu UUID PCI_BUS_ID MEMORY_MIB MAJOR.MINOR NAME`: %s", path, line);
		fclose(file);
		return NVML_ERROR_CORRUPTED_INFOROM;
	}
	fclose(file);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
	pthread_mutex_lock(&mutex);
	nvmlReturn_t result = sessions > 0 ? NVML_SUCCESS : load();
	if (result == NVML_SUCCESS) sessions++;
	pthread_mutex_unlock(&mutex);
	return result;
}

nvmlReturn_t nvmlInit_v2(void)
{
	return nvmlInitWithFlags(0);
}

nvmlReturn_t nvmlShutdown(void)
{
	pthread_mutex_lock(&mutex);
	nvmlReturn_t result = sessions > 0 ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
	if (sessions > 0) sessions--;
	pthread_mutex_unlock(&mutex);
	return result;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
	switch (result) {
	case NVML_SUCCESS: return "Success";
	case NVML_ERROR_UNINITIALIZED: return "Uninitialized";
	case NVML_ERROR_INVALID_ARGUMENT: return "Invalid Argument";
	case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
	case NVML_ERROR_NOT_FOUND: return "Not Found";
	case NVML_ERROR_INSUFFICIENT_SIZE: return "Insufficient Size";
	case NVML_ERROR_DRIVER_NOT_LOADED: return "Driver Not Loaded";
	case NVML_ERROR_TIMEOUT: return "Timeout";
	default: return "Unknown Error";
	}
}

static nvmlReturn_t copy(const char *value, char *to, unsigned int length)
{
	if (sessions == 0) return NVML_ERROR_UNINITIALIZED;
	if (to == NULL) return NVML_ERROR_INVALID_ARGUMENT;
	if (strlen(value) >= length) return NVML_ERROR_INSUFFICIENT_SIZE;
	strcpy(to, value);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
	return copy(driver_version, version, length);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
	return copy(driver_version, version, length);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	if (sessions == 0) return NVML_ERROR_UNINITIALIZED;
	*version = cuda_version;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version)
{
	return nvmlSystemGetCudaDriverVersion_v2(version);
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *devices)
{
	if (sessions == 0) return NVML_ERROR_UNINITIALIZED;
	*devices = count;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	if (sessions == 0) return NVML_ERROR_UNINITIALIZED;
	if (index >= count) return NVML_ERROR_INVALID_ARGUMENT;
	device->handle = &gpus[index];
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
	if (sessions == 0) return NVML_ERROR_UNINITIALIZED;
	for (unsigned int index = 0; index < count; index++)
		if (strcmp(gpus[index].uuid, uuid) == 0) return nvmlDeviceGetHandleByIndex_v2(index, device);
	return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *device)
{
	unsigned int domain, bus, number;
	if (sessions == 0) return NVML_ERROR_UNINITIALIZED;
	if (sscanf(id, "%x:%x:%x.0", &domain, &bus, &number) != 3) return NVML_ERROR_INVALID_ARGUMENT;
	for (unsigned int index = 0; index < count; index++)
		if (gpus[index].domain == domain && gpus[index].bus == bus && gpus[index].device == number)
			return nvmlDeviceGetHandleByIndex_v2(index, device);
	return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
	return copy(device.handle->uuid, uuid, length);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
	return copy(device.handle->name, name, length);
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
	*index = device.handle->minor;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minor)
{
	*minor = device.handle->minor;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, nvmlBrandType_t *brand)
{
	*brand = NVML_BRAND_NVIDIA;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, nvmlDeviceArchitecture_t *architecture)
{
	int capability = device.handle->major_capability * 10 + device.handle->minor_capability;
	*architecture = capability >= 100 ? NVML_DEVICE_ARCH_BLACKWELL
		: capability >= 90 ? NVML_DEVICE_ARCH_HOPPER
		: capability == 89 ? NVML_DEVICE_ARCH_ADA
		: capability >= 80 ? NVML_DEVICE_ARCH_AMPERE
		: capability >= 75 ? NVML_DEVICE_ARCH_TURING
		: NVML_DEVICE_ARCH_VOLTA;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
	*major = device.handle->major_capability;
	*minor = device.handle->minor_capability;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	*memory = (nvmlMemory_t){.total = device.handle->memory, .free = device.handle->memory};
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	*pci = (nvmlPciInfo_t){.domain = device.handle->domain, .bus = device.handle->bus, .device = device.handle->device, .pciDeviceId = 0x233010de};
	snprintf(pci->busId, sizeof pci->busId, "%08X:%02X:%02X.0", device.handle->domain, device.handle->bus, device.handle->device);
	snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.0", device.handle->domain, device.handle->bus, device.handle->device);
	return NVML_SUCCESS;
}

/* All are on one CPU socket; there are no NVLinks. */
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t one, nvmlDevice_t other, nvmlGpuTopologyLevel_t *level)
{
	*level = NVML_TOPOLOGY_NODE;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending)
{
	if (device.handle->major_capability < 8) return NVML_ERROR_NOT_SUPPORTED;
	*current = *pending = NVML_DEVICE_MIG_DISABLE;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *is_mig)
{
	*is_mig = 0;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *types)
{
	*types = nvmlEventTypeXidCriticalError;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
	char path[PATH_MAX];
	struct stat file;
	if (sessions == 0) return NVML_ERROR_UNINITIALIZED;
	set->handle = calloc(1, sizeof *set->handle);
	beside("events", path);
	if (stat(path, &file) == 0) set->handle->offset = file.st_size;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
	free(set.handle);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set)
{
	if (types & ~nvmlEventTypeXidCriticalError) return NVML_ERROR_NOT_SUPPORTED;
	set.handle->types[device.handle->minor] |= types;
	return NVML_SUCCESS;
}

/* Reads the next event of a registered GPU, if there is one. */
static int next_event(nvmlEventSet_t set, nvmlEventData_t *data)
{
	char path[PATH_MAX], line[256], uuid[NVML_DEVICE_UUID_BUFFER_SIZE];
	unsigned long long xid;
	int found = 0;
	beside("events", path);
	FILE *file = fopen(path, "r");
	if (file == NULL) return 0;
	fseek(file, set.handle->offset, SEEK_SET);
	/* A line is complete with its newline. */
	while (!found && fgets(line, sizeof line, file) != NULL && strchr(line, '\n') != NULL) {
		set.handle->offset = ftell(file);
		nvmlDevice_t device;
		if (sscanf(line, "xid %79s %llu", uuid, &xid) != 2 || nvmlDeviceGetHandleByUUID(uuid, &device) != NVML_SUCCESS) {
			fprintf(stderr, "nvml: %s: must be `xid UUID NUMBER`: %s", path, line);
			continue;
		}
		if ((set.handle->types[device.handle->minor] & nvmlEventTypeXidCriticalError) == 0) continue;
		*data = (nvmlEventData_t){.device = device, .eventType = nvmlEventTypeXidCriticalError, .eventData = xid,
			.gpuInstanceId = UINT_MAX, .computeInstanceId = UINT_MAX};
		found = 1;
	}
	fclose(file);
	return found;
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout)
{
	for (unsigned int waited = 0;; waited += EVENT_POLL_MS) {
		if (sessions == 0) return NVML_ERROR_UNINITIALIZED;
		if (next_event(set, data)) return NVML_SUCCESS;
		if (waited >= timeout) return NVML_ERROR_TIMEOUT;
		poll(NULL, 0, EVENT_POLL_MS);
	}
}
