// The part of the DLPack tensor layout that a solution needs.
#pragma once
#include <cstdint>

struct DLDevice { int32_t device_type; int32_t device_id; };
struct DLDataType { uint8_t code; uint8_t bits; uint16_t lanes; };
struct DLTensor {
    void* data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t* shape;
    int64_t* strides;
    uint64_t byte_offset;
};

template <typename T>
static T* data_of(const DLTensor* tensor) {
    return reinterpret_cast<T*>(static_cast<char*>(tensor->data) + tensor->byte_offset);
}
