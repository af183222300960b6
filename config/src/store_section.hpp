// Builds a row of the stores from parts that know the store's own options only.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "store_types.hpp"

namespace tenure::config {

template <typename Options>
class StoreSection {
 public:
  StoreSection(std::string name, std::string about) {
    row_.name = std::move(name);
    row_.about = std::move(about);
    row_.defaults = Options{};
    row_.faults = [](const StoreConfig& store) { return faultsOf(std::get<Options>(store)); };
  }

  /// `access` gives the field (a T or an optional<T>) of Options, const or not.
  template <typename T, typename Access>
  KeySpec& key(KeyText text, Codec<T> codec, Access access) {
    row_.keys.push_back(keySpec<T>(
        std::move(text),
        std::move(codec), [access](auto& config) -> auto& { return access(std::get<Options>(config.store)); }));
    return row_.keys.back();
  }

  template <typename T, typename Access>
  KeySpec& requiredKey(KeyText text, Codec<T> codec, Access access) {
    KeySpec& spec = key(std::move(text), std::move(codec), access);
    spec.key.required = true;
    return spec;
  }

  /// A text that may be left out: then the `derived` words say what counts, also as the fallback unless the key has one
  /// of its own. `word` is KeySpec's.
  KeySpec& textKey(KeyText text, const std::string& allowed, std::string Options::*field, const std::string& derived,
                   const std::string& word = {}) {
    if (text.fallback.empty()) text.fallback = derived;
    KeySpec& spec = key(
        std::move(text), textCodec(allowed), [field](auto& options) -> auto& { return options.*field; });
    spec.derived = [derived](const GroupConfig&) { return derived; };
    spec.word = word;
    return spec;
  }

  /// The same for the path of a file with a password, a key or a token.
  KeySpec& secretKey(KeyText text, std::string Options::*field, const std::string& derived,
                     const std::string& word = {}) {
    row_.secrets.push_back([what = text.path, field](const StoreConfig& store) {
      return NamedPath{what, std::get<Options>(store).*field};
    });
    return textKey(std::move(text), "the path of a file", field, derived, word);
  }

  /// The lines of the store section in the file of `tenure init`: comments, `store:` and its keys.
  void hasSample(std::string lines) { row_.sample = std::move(lines); }

  /// `sql` gives what an administrator runs, from Options and a role.
  template <typename Sql>
  void schemaBy(Sql sql) {
    row_.schemaSql = [sql](const StoreConfig& store, const std::string& role) {
      return sql(std::get<Options>(store), role);
    };
  }

  /// `read` gives a StoreStatus from Options.
  template <typename Read>
  void filesBy(Read read) {
    row_.readFiles = [read](const StoreConfig& store) { return read(std::get<Options>(store)); };
  }

  /// `look` gives a FileAccess from Options.
  template <typename Look>
  void accessBy(Look look) {
    row_.access = [look](const StoreConfig& store) { return look(std::get<Options>(store)); };
  }

  /// `directory` gives a NamedPath of Options.
  template <typename Directory>
  void keepsFilesIn(Directory directory) {
    row_.directory = [directory](const StoreConfig& store) { return directory(std::get<Options>(store)); };
  }

  /// `ask` gives ServerFacts of Options.
  template <typename Ask>
  void serverBy(Ask ask) {
    row_.server = [ask](const StoreConfig& store) { return ask(std::get<Options>(store)); };
  }

  void isBuiltOn(LibraryVersion library) { row_.library = std::move(library); }

  /// `why` gives a text of Options.
  template <typename Why>
  void forgetsIf(Why why) {
    row_.whyForgets = [why](const StoreConfig& store) { return why(std::get<Options>(store)); };
  }

  /// `rule` gives a CommitRule of Options.
  template <typename Rule>
  void commitsBy(Rule rule) {
    row_.commits = [rule](const StoreConfig& store) { return rule(std::get<Options>(store)); };
  }

  /// `resolve` makes relative paths of Options relative to a directory.
  template <typename Resolve>
  void pathsBy(Resolve resolve) {
    row_.resolvePaths = [resolve](StoreConfig& store, const std::filesystem::path& directory) {
      resolve(std::get<Options>(store), directory);
    };
  }

  template <typename Make>
  [[nodiscard]] StoreType madeBy(Make make) {
    row_.make = [make](const StoreConfig& store, Logger logger) {
      return make(std::get<Options>(store), std::move(logger));
    };
    return std::move(row_);
  }

  void isOfOneProcess() { row_.ofOneProcess = true; }

 private:
  StoreType row_;
};

}  // namespace tenure::config
