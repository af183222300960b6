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

/// Reads a file as client-go does, or several with colons between, as in KUBECONFIG: of a name that several have the
/// first entry counts, and those that are not there are left out. `context`: one of theirs; empty: their
/// current-context. Server, authority and user are those of the context; the namespace too, unless `given` has one, and
/// else it is "default". All else stays as it is in `given`, which must have no server and no user. A relative path in
/// a file is taken relative to its directory. A file has at most 16 MiB.
///
/// Of a user it takes a token (`token`, or `tokenFile`, which is read again as long as the store lives) and a client's
/// certificate, of a cluster its server, authority, `tls-server-name` and `proxy-url`. Other ways to be somebody are
/// faults, each by its name: `exec` and `auth-provider`, which start programs, `username` and `password`, `as`. So is
/// `insecure-skip-tls-verify`. For a server without TLS, client-go takes neither user nor authority, nor does this.
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
