// `tenure init`: a first configuration file.
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <tenure/config/load_group.hpp>

#include "cli/commands.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/output.hpp"
#include "config/src/store_types.hpp"
#include "config/src/words.hpp"
#include "lockcore/runtime/open_file.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::cli {
namespace {

struct InitArguments {
  std::string file{"group.yaml"};  ///< "-": stdout
  std::string store{};             ///< empty: the first one
  bool force{false};
};

int cannotWrite(const std::string& file) {
  const int error = errno;
  const bool exists = error == EEXIST;
  complain(file + ": " +
           (exists ? "exists already; give another name, or --force to replace it"
                   : "cannot be written: " + errnoText(error)));
  return exitFailed;
}

int execute(const InitArguments& arguments) {
  const std::string sample = sampleGroupYaml(arguments.store);
  if (arguments.file == "-") return say(sample) ? exitOk : exitFailed;
  const int how = arguments.force ? O_TRUNC : O_EXCL;
  const UniqueFd file{openToWrite(arguments.file, O_WRONLY | O_CREAT | O_CLOEXEC | how, 0644)};
  if (!file) return cannotWrite(arguments.file);
  const ssize_t written = write(file.get(), sample.data(), sample.size());
  if (written >= 0 && static_cast<std::size_t>(written) < sample.size()) errno = ENOSPC;  // a part of it was written
  if (written != static_cast<ssize_t>(sample.size()) || fsync(file.get()) != 0) return cannotWrite(arguments.file);
  return say("wrote " + arguments.file + "; next: tenure check --config " + arguments.file + '\n') ? exitOk
                                                                                                   : exitFailed;
}

std::string takeStore(const std::string& text, std::string& to) {
  to = text;
  std::vector<std::string> names;
  for (const config::StoreType& type : config::storeTypes()) names.push_back(type.name);
  if (std::find(names.begin(), names.end(), text) != names.end()) return {};
  const std::string why = config::whyWithout(text);
  const std::string allowed = config::listed(names);
  if (!why.empty()) return "\"" + text + "\" is a store that this build does not have (" + why + "); it has " + allowed;
  return "\"" + text + "\" is none of " + allowed;
}

std::string storesInWords() {
  std::string text = "where the lease is kept (the first if not given):";
  for (const config::StoreType& type : config::storeTypes()) text += "\n" + type.name + ": " + type.about;
  return text;
}

}  // namespace

Command initCommand() {
  const auto declare = [](Options& options, InitArguments& to) {
    options.path("FILE", to.file, "the file to write, group.yaml if not given; - is stdout")
        .value(
            "--store STORE", [&to](const std::string& text) { return takeStore(text, to.store); }, storesInWords())
        .flag("--force", to.force, "replace FILE if it exists");
  };
  return {
      .name = "init",
      .summary = "write a commented sample configuration file",
      .exits = {{"0", "written"}, {"1", "FILE exists, or cannot be written"}, {"2", "wrong arguments"}},
      .examples = {"tenure init billing.yaml && tenure check --config billing.yaml",
                   "tenure init billing.yaml --store postgresql"},
      .options = optionsOf<InitArguments>(declare, execute),
  };
}

}  // namespace tenure::cli
