// YAML -> a validated group with its store; and a kubeconfig file, as kubectl uses it -> options of the Kubernetes
// store.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/assert/source_location.hpp>
#include <boost/system/result.hpp>

#include <tenure/config/group_config.hpp>
#include <tenure/election/group.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/stores/kubernetes_store.hpp>

namespace tenure {

/// One fault of a configuration file. `toString` gives `group.yaml:4:13: lease.heartbeat: ...`.
struct ConfigFault {
  std::string file;     ///< as it was given; "group.yaml"
  int line{0};          ///< from 1; 0: the file as a whole
  int column{0};        ///< from 1, in characters (not bytes); 0: the line as a whole
  std::string key;      ///< path of the key, "lease.heartbeat"; may be empty
  std::string message;  ///< what is wrong, what is allowed, and a suggestion for a misspelt key

  friend bool operator==(const ConfigFault&, const ConfigFault&) = default;
};

[[nodiscard]] TENURE_API std::string toString(const ConfigFault& fault);
TENURE_API std::ostream& operator<<(std::ostream& out, const ConfigFault& fault);

/// Every fault of a file, in the order of its lines; not only the first.
using ConfigFaults = std::vector<ConfigFault>;

/// The faults, one on each line, without a line break at the end. It lists the first 20 and says how many more there
/// are.
[[nodiscard]] TENURE_API std::string toString(const ConfigFaults& faults);

/// Makes `value()` throw std::runtime_error with all faults, one on each line.
[[noreturn]] TENURE_API void throw_exception_from_error(const ConfigFaults& faults,
                                                        const boost::source_location& where);

/// Gives the value of a variable for `${VAR}`; empty optional: not set.
using VariableSource = std::function<std::optional<std::string>(const std::string& name)>;

/// The environment of the process. Shells set HOSTNAME but often do not export it: if the environment lacks it, its
/// value is the machine's host name. The environment is read at each call: do not call setenv at the same time.
[[nodiscard]] TENURE_API VariableSource environmentVariables();

/// Reads and validates a file of at most 1 MiB. It only reads: no file is created, no request made, no store
/// opened. Variables come from the environment. A relative path in the store section is taken relative to the directory
/// of the file, and made absolute.
[[nodiscard]] TENURE_API boost::system::result<GroupConfig, ConfigFaults> loadGroupConfig(
    const std::filesystem::path& file);

/// Reads and validates text in memory; `name` is the file's name in messages. A relative path in the store
/// section is left as it is (so it is relative to the working directory).
[[nodiscard]] TENURE_API boost::system::result<GroupConfig, ConfigFaults> loadGroupConfigFromText(
    std::string_view text, const std::string& name, const VariableSource& variables = environmentVariables());

/// loadGroupConfig, then makeGroup. The store object is made, but used for the first time when the group is.
[[nodiscard]] TENURE_API boost::system::result<Group, ConfigFaults> loadGroup(const std::filesystem::path& file);

/// loadGroupConfigFromText, then makeGroup.
[[nodiscard]] TENURE_API boost::system::result<Group, ConfigFaults> loadGroupFromText(
    std::string_view text, const std::string& name, const VariableSource& variables = environmentVariables());

/// Reads a file as client-go does, or several with colons between, as in KUBECONFIG: of a name that several have the
/// first entry counts, and those that are not there are left out. If none is there and no context is named, a process
/// in a pod gets `given`, which leaves all to the pod. `context`: one of theirs; empty: their current-context. Server,
/// authority and user are those of the context; the namespace too, unless `given` has one; the default is "default".
/// Other fields stay as they are in `given`, which must have no server and no user. A relative path in a file is taken
/// relative to its directory. A file has at most 16 MiB.
///
/// Of a user it takes a token (`token`, or `tokenFile`, which is read again as long as the store lives) and a client's
/// certificate, of a cluster its server, authority, `tls-server-name` and `proxy-url`. Other ways to authenticate are
/// faults, each by its name: `exec` and `auth-provider`, which start programs, `username` and `password`, `as`. So is
/// `insecure-skip-tls-verify`. For a server without TLS, client-go takes neither user nor authority, nor does this.
///
/// Faults never show a token or a key.
[[nodiscard]] TENURE_API boost::system::result<KubernetesStoreOptions, ConfigFaults> kubernetesOptionsFrom(
    const std::filesystem::path& file, const std::string& context = {}, KubernetesStoreOptions given = {});

/// Reads text in memory; `file` is its name in messages, and relative paths start at its
/// directory.
[[nodiscard]] TENURE_API boost::system::result<KubernetesStoreOptions, ConfigFaults> kubernetesOptionsFromText(
    std::string_view text, const std::filesystem::path& file, const std::string& context = {},
    KubernetesStoreOptions given = {});

/// The options that a store section describes: those of its kubeconfig file, which is read, or its own.
[[nodiscard]] TENURE_API boost::system::result<KubernetesStoreOptions, ConfigFaults> kubernetesOptionsOf(
    const KubernetesConfig& config);

}  // namespace tenure
