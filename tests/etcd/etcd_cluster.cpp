#include "etcd_cluster.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "support/eventually.hpp"

namespace tenure::test {
namespace {

std::vector<std::string> parts(const std::string& list) {
  std::vector<std::string> found;
  std::istringstream in{list};
  for (std::string one; std::getline(in, one, ',');) found.push_back(one);
  return found;
}

std::vector<std::string> commandOf(pid_t process) {
  std::ifstream in{"/proc/" + std::to_string(process) + "/cmdline"};
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
  return words;
}

}  // namespace

EtcdCluster::EtcdCluster(const std::vector<std::string>& arguments) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  std::vector<std::string> command{"/usr/bin/env", "python3", "-B", TENURE_ETCD_BESIDE};
  command.insert(command.end(), arguments.begin(), arguments.end());
  for (const char* word : {"--", "/bin/sh", "-c", "env; echo ready; cat"}) command.emplace_back(word);
  process_ = std::make_unique<LaunchedProcess>(command, [&] {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
  });
  close(in[0]);
  close(out[1]);
  input_ = in[1];
  output_ = out[0];
  const std::unique_ptr<FILE, int (*)(FILE*)> lines{fdopen(dup(output_), "r"), std::fclose};
  char room[4096];
  while (std::fgets(room, sizeof room, lines.get()) != nullptr) {
    std::string line{room};
    if (!line.empty() && line.back() == '\n') line.pop_back();
    if (line == "ready") {
      for (const pid_t one : pids_) commands_.push_back(commandOf(one));
      restarted_.resize(pids_.size());
      return;
    }
    read(line);
  }
  throw std::runtime_error("etcd did not start; see above");
}

void EtcdCluster::read(const std::string& line) {
  const auto equals = line.find('=');
  if (equals == std::string::npos) return;
  const std::string name = line.substr(0, equals);
  const std::string value = line.substr(equals + 1);
  const std::map<std::string, std::string*> texts{{"TENURE_TEST_ETCD_CA", &caFile_},
                                                  {"TENURE_TEST_ETCD_CERTIFICATE", &certificate_},
                                                  {"TENURE_TEST_ETCD_KEY", &key_},
                                                  {"TENURE_TEST_ETCD_USER", &user_},
                                                  {"TENURE_TEST_ETCD_PASSWORD_FILE", &passwordFile_}};
  if (const auto known = texts.find(name); known != texts.end()) *known->second = value;
  if (name == "TENURE_TEST_ETCD") endpoints_ = parts(value);
  if (name != "TENURE_TEST_ETCD_PIDS") return;
  for (const std::string& pid : parts(value)) pids_.push_back(std::stoi(pid));
}

EtcdCluster::~EtcdCluster() {
  restarted_.clear();
  close(input_);
  process_->wait();
  close(output_);
}

void EtcdCluster::kill(std::size_t member) {
  if (restarted_.at(member)) return restarted_[member].reset();
  ::kill(pids_.at(member), SIGKILL);
}

/// The killed one may still hold its ports and its data for a moment, and then the new one ends at once.
void EtcdCluster::restart(std::size_t member) {
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  const bool first = !restarted_.at(member);
  while (first && !commandOf(pids_.at(member)).empty() && std::chrono::steady_clock::now() < patience) {
    std::this_thread::yield();  // the process is a zombie of beside.py then, whose command is empty
  }
  restarted_[member] = std::make_unique<LaunchedProcess>(commands_.at(member), [] {
    const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nothing, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
  });
  pids_[member] = restarted_[member]->id();
}

/// A thread that is on a processor at that moment goes on for a little, and a member may still answer.
void EtcdCluster::freeze(std::size_t member) {
  const pid_t pid = pids_.at(member);
  ::kill(pid, SIGSTOP);
  const auto stands = [pid] {
    std::error_code gone;
    for (const auto& thread : std::filesystem::directory_iterator{"/proc/" + std::to_string(pid) + "/task", gone}) {
      std::ifstream in{thread.path() / "stat"};
      std::string stat;
      std::getline(in, stat);
      const std::size_t state = stat.rfind(')') + 2;
      if (state >= stat.size() || stat[state] != 'T') return false;
    }
    return true;
  };
  if (!Eventually{std::chrono::seconds{20}}(stands)) throw std::runtime_error{"an etcd member does not stop"};
}
void EtcdCluster::thaw(std::size_t member) { ::kill(pids_.at(member), SIGCONT); }

}  // namespace tenure::test
