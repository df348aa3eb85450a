// Package nvfm stands for NVIDIA's bindings of the Fabric Manager, which not every module proxy has: it behaves as they do
// on a machine without libnvfm.so. NVIDIA's DRA driver needs them for GPUs behind NVSwitches that are passed through to
// virtual machines.
//
// Upstream: github.com/NVIDIA/go-nvfm, pkg/nvfm.
package nvfm

type Return int

const (
	SUCCESS       Return = 0
	GENERIC_ERROR Return = -2
	UNINITIALIZED Return = -4
)

func (r Return) String() string {
	switch r {
	case SUCCESS:
		return "SUCCESS"
	case UNINITIALIZED:
		return "UNINITIALIZED"
	}
	return "GENERIC_ERROR"
}

type FabricPartitionId uint32

type FabricPartitionGpuInfo struct {
	PhysicalId          uint32
	Uuid                [80]int8
	PciBusId            [32]int8
	NumNvLinksAvailable uint32
	MaxNumNvLinks       uint32
	NvlinkLineRateMBps  uint32
}

type FabricPartitionInfo struct {
	PartitionId uint32
	IsActive    uint32
	NumGpus     uint32
	GpuInfo     [16]FabricPartitionGpuInfo
}

type FabricPartitionList struct {
	NumPartitions uint32
	PartitionInfo [64]FabricPartitionInfo
}

type Handle interface {
	ActivateFabricPartition(FabricPartitionId) Return
	DeactivateFabricPartition(FabricPartitionId) Return
	Disconnect() Return
	GetSupportedFabricPartitions() (FabricPartitionList, Return)
}

type Interface interface {
	Connect(...ConnectOption) (Handle, Return)
	Init() Return
	Shutdown() Return
}

type (
	LibraryOption struct{}
	ConnectOption struct{}
)

func WithLibraryPath(string) LibraryOption { return LibraryOption{} }
func WithUnixSocket(string) ConnectOption  { return ConnectOption{} }
func WithAddress(string) ConnectOption     { return ConnectOption{} }
func WithTimeoutMs(uint32) ConnectOption   { return ConnectOption{} }

type missingLibrary struct{}

func New(...LibraryOption) Interface { return missingLibrary{} }

func (missingLibrary) Init() Return                              { return GENERIC_ERROR }
func (missingLibrary) Shutdown() Return                          { return UNINITIALIZED }
func (missingLibrary) Connect(...ConnectOption) (Handle, Return) { return nil, UNINITIALIZED }
