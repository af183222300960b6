#include <string>
#include <utility>

#include "config/src/store_section.hpp"
#include "lockcore/runtime/regular_file.hpp"

#ifdef TENURE_HAS_STORE_ETCD
#include "config/src/ask_server.hpp"
#include "lockcore/net/library_version.hpp"
#include "lockcore/stores/etcd/src/link/http_gateway.hpp"

namespace tenure::config {
namespace {

using EtcdSection = StoreSection<EtcdStoreOptions>;

void addPlaceKeys(EtcdSection& section) {
  section
      .key(
          {.path = "store.endpoints",
           .about = "The client URLs of the members, all of one cluster, with TLS or without; a YAML list, or one text "
                    "with commas between. Give all of them."},
          listCodec("URLs such as https://etcd1:2379"), [](auto& options) -> auto& { return options.endpoints; })
      .word = "URL,URL";
  section
      .key(
          {.path = "store.prefix",
           .about = "The prefix of every key of the store. Candidates that compete have the same. The user needs "
                    "permission to read and write below it."},
          textCodec("a path such as /tenure, 1 to 512 bytes"), [](auto& options) -> auto& { return options.prefix; })
      .word = "P";
}

void addUserKeys(EtcdSection& section) {
  section.textKey({.path = "store.user",
                   .example = "jobs-user",
                   .about = "The user of etcd, if the cluster requires one. docs/etcd.md has the commands that create "
                            "it with minimal permissions."},
                  "the name of a user", &EtcdStoreOptions::user, "none", "NAME");
  section.secretKey({.path = "store.password_file",
                     .example = "./etcd-password",
                     .about = "A file whose first line is the password. It is read again when etcd refuses it."},
                    &EtcdStoreOptions::passwordFile, "none", "FILE");
}

void addTlsKeys(EtcdSection& section) {
  section.textKey({.path = "store.ca_file",
                   .example = "./etcd-ca.pem",
                   .about = "A PEM file of the certificates to trust instead of the system's."},
                  "the path of a file", &EtcdStoreOptions::caFile, "the system's", "FILE");
  section.textKey({.path = "store.certificate",
                   .example = "./client.crt",
                   .about = "The client's certificate (PEM), if etcd requires one. With users, it must have no "
                            "common name: etcd's gateway refuses one."},
                  "the path of a file", &EtcdStoreOptions::certificate, "none", "FILE");
  section.secretKey({.path = "store.key",
                     .example = "./client.key",
                     .about = "The key of that certificate (PEM), without a passphrase."},
                    &EtcdStoreOptions::key, "none", "FILE");
}

void resolveFiles(EtcdStoreOptions& options, const std::filesystem::path& directory) {
  for (std::string* path : {&options.passwordFile, &options.caFile, &options.certificate, &options.key}) {
    if (!path->empty()) *path = (directory / *path).lexically_normal().string();
  }
}

/// The first member that answers.
ServerFacts askMembers(const EtcdStoreOptions& options) {
  const auto client = net::HttpClient::make(etcd_store::clientOptions(options, Logger{}));
  ServerFacts facts;
  for (const std::string& endpoint : options.endpoints) {
    facts = askServer(*client, net::parseUrl(endpoint).value(), "/version", {"etcd", "etcdserver"});
    if (facts.whyNot.empty()) break;
  }
  return facts;
}

constexpr const char* etcdStarter =
    R"(# Where the lease is kept: an etcd cluster (3.4 or later), for any number of processes on any number of machines.
# tenure check --connect says whether the cluster answers, lets the user in and has room.
store:
  type: etcd
  endpoints: ["https://etcd1:2379", "https://etcd2:2379", "https://etcd3:2379"]
  # prefix: /tenure               # the same for all candidates that compete
  # ca_file: ./etcd-ca.pem        # if your own authority has signed; a relative path starts at this file
  # user: scheduler               # docs/etcd.md: the rights that it needs
  # password_file: ./etcd-password
  # certificate: ./client.crt     # without a common name if there are users; and key: ./client.key
)";

}  // namespace

template <>
StoreType storeType<EtcdStoreOptions>() {
  EtcdSection section{"etcd", "an etcd cluster (3.4 or later), for any number of machines."};
  section.hasSample(etcdStarter);
  addPlaceKeys(section);
  addUserKeys(section);
  addTlsKeys(section);
  section.pathsBy(resolveFiles);
  section.filesBy([](const EtcdStoreOptions& options) -> StoreStatus {
    if (options.user.empty()) return {};
    const auto password = passwordIn(options.passwordFile);
    return password ? StoreStatus{} : StoreStatus{password.error()};
  });
  section.serverBy(askMembers);
  section.isBuiltOn({"OpenSSL", net::libraryVersion()});
  return section.madeBy(
      [](const EtcdStoreOptions& options, Logger logger) { return makeEtcdStore(options, std::move(logger)); });
}

}  // namespace tenure::config
#else
template <>
tenure::config::StoreType tenure::config::storeType<tenure::EtcdStoreOptions>() {
  return {.name = "etcd", .without = "CMake's option TENURE_WITH_ETCD_STORE was off"};
}
#endif
