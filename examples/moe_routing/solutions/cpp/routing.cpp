// A token at a time in registers and L1: group scores, then an insertion into the eight best of the kept groups.
#include "solbench.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

constexpr int GROUPS = 8, KEPT = 4, TOP_K = 8;
constexpr float LOWEST = -std::numeric_limits<float>::infinity();

static float best_two(const float* biased, int64_t size) {
    float first = LOWEST, second = LOWEST;
    for (int64_t index = 0; index < size; ++index) {
        second = std::max(second, std::min(first, biased[index]));
        first = std::max(first, biased[index]);
    }
    return first + second;
}

static void insert(float value, int32_t expert, float* values, int32_t* experts) {
    if (value <= values[TOP_K - 1]) return;
    int place = TOP_K - 1;
    for (; place > 0 && values[place - 1] < value; --place) {
        values[place] = values[place - 1];
        experts[place] = experts[place - 1];
    }
    values[place] = value;
    experts[place] = expert;
}

static void select(const float* biased, int64_t size, int32_t* experts) {
    float group_scores[GROUPS];
    int order[GROUPS];
    for (int group = 0; group < GROUPS; ++group) {
        group_scores[group] = best_two(biased + group * size, size);
        order[group] = group;
    }
    std::stable_sort(order, order + GROUPS, [&](int a, int b) { return group_scores[a] > group_scores[b]; });
    std::sort(order, order + KEPT);
    float values[TOP_K];
    std::fill(values, values + TOP_K, LOWEST);
    for (int kept = 0; kept < KEPT; ++kept)
        for (int64_t index = order[kept] * size; index < (order[kept] + 1) * size; ++index)
            insert(biased[index], static_cast<int32_t>(index), values, experts);
}

extern "C" int run(const DLTensor* const* inputs, DLTensor* const* outputs, const double* scalars, void*) {
    const int64_t tokens = inputs[0]->shape[0], experts = inputs[0]->shape[1];
    const float* logits = static_cast<float*>(inputs[0]->data);
    const float* bias = static_cast<float*>(inputs[1]->data);
    int32_t* chosen = static_cast<int32_t*>(outputs[0]->data);
    float* weights = static_cast<float*>(outputs[1]->data);
    std::vector<float> scores(experts), biased(experts);
    for (int64_t token = 0; token < tokens; ++token, logits += experts, chosen += TOP_K, weights += TOP_K) {
        for (int64_t expert = 0; expert < experts; ++expert) {
            scores[expert] = 1.0f / (1.0f + std::exp(-logits[expert]));
            biased[expert] = scores[expert] + bias[expert];
        }
        select(biased.data(), experts / GROUPS, chosen);
        float total = 0.0f;
        for (int rank = 0; rank < TOP_K; ++rank) total += scores[chosen[rank]];
        for (int rank = 0; rank < TOP_K; ++rank)
            weights[rank] = scores[chosen[rank]] * static_cast<float>(scalars[0]) / total;
    }
    return 0;
}
