
#include <array>
#include <utility>

#include "file_rights.hpp"

namespace tenure::detail {
namespace {

/// Numbers from linux/magic.h and the file systems' own sources.
constexpr std::array<std::pair<std::uint32_t, std::string_view>, 20> networkTypes{{
    {0x00006969, "NFS"},
    {0x0000517B, "SMB"},
    {0xFF534D42, "CIFS"},
    {0xFE534D42, "SMB2"},
    {0x01021997, "9P"},
    {0x65735546, "FUSE"},
    {0x00C36400, "Ceph"},
    {0x5346414F, "AFS"},
    {0x6B414653, "AFS"},
    {0x73757245, "Coda"},
    {0x0000564C, "NCP"},
    {0x7461636F, "OCFS2"},
    {0x01161970, "GFS2"},
    {0x47504653, "GPFS"},
    {0x0BD00BD0, "Lustre"},
    {0x19830326, "BeeGFS"},
    {0x20030528, "OrangeFS"},
    {0x786F4256, "VirtualBox shared folder"},
    {0xBACBACBC, "VMware shared folder"},
    {0xAAD7AAEA, "PanFS"},
}};

}  // namespace

std::optional<std::string_view> networkFileSystem(std::uint32_t fileSystemType) noexcept {
  for (const auto& [type, name] : networkTypes) {
    if (type == fileSystemType) return name;
  }
  return std::nullopt;
}

}  // namespace tenure::detail
