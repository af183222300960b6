// A kubeconfig file, as kubectl uses it -> options of the Kubernetes store.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include <tenure/config/load_group.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/stores/kubernetes_store.hpp>

namespace tenure {

/// Reads a file of at most 1 MiB. `context`: one of the file's; empty: its current-context. Server, authority and user
/// are those of the context; the namespace too, unless `given` has one, and else it is "default". All else stays as it
/// is in `given`, which must have no server and no user. A relative path in the file is taken relative to its
/// directory.
///
/// Of a user it takes a token (`token`, or `tokenFile`, which is read again as long as the store lives) and a client's
/// certificate, of a cluster its server and authority. Other ways to be somebody are faults, each by its name: `exec`
/// and `auth-provider`, which start programs, `username` and `password`, `as`. So are `insecure-skip-tls-verify`,
/// `tls-server-name` and `proxy-url`. What a client may leave out, such as `extensions`, is not read.
///
/// Faults never show a token or a key.
[[nodiscard]] TENURE_API boost::system::result<KubernetesStoreOptions, ConfigFaults> kubernetesOptionsFrom(
    const std::filesystem::path& file, const std::string& context = {}, KubernetesStoreOptions given = {});

/// The same for text that was read elsewhere; `file` is its name in messages, and relative paths start at its
/// directory.
[[nodiscard]] TENURE_API boost::system::result<KubernetesStoreOptions, ConfigFaults> kubernetesOptionsFromText(
    std::string_view text, const std::filesystem::path& file, const std::string& context = {},
    KubernetesStoreOptions given = {});

/// The options that a store section describes: those of its kubeconfig file, which is read, or its own.
[[nodiscard]] TENURE_API boost::system::result<KubernetesStoreOptions, ConfigFaults> kubernetesOptionsOf(
    const KubernetesConfig& config);

}  // namespace tenure
